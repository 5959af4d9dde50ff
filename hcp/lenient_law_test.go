package hcp_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"github.com/openshift/hypershift/api/util/ipnet"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// asCached is o as the operator's cache has it: encoded by the API server and decoded leniently.
func asCached(t testing.TB, o hcp.Objects) hcp.Objects {
	t.Helper()
	out := hcp.Objects{Nodes: o.Nodes, Management: o.Management}
	out.SetHostedCluster(&decode(t, []hyperv1.HostedCluster{*o.HostedCluster}, lenient.HostedCluster{})[0])
	for i := range o.Services {
		out.Services = append(out.Services, *services.CachedService(&o.Services[i]))
	}
	// The imported types lack this field, so the text does not have it.
	out.HostedIngress = o.HostedIngress
	for _, np := range decode(t, o.NodePools, lenient.NodePool{}) {
		out.NodePools = append(out.NodePools, *np.Fields)
	}
	out.AddRoutes(decode(t, o.Routes, lenient.Route{}))
	out.AddVMs(decode(t, o.VMs, lenient.VirtualMachineInstance{}))
	out.AddNADs(decode(t, o.NetworkAttachmentDefinitions, lenient.NetworkAttachmentDefinition{}))
	return out
}

func decode[T, L any](t testing.TB, whole []T, _ L) []L {
	t.Helper()
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	var out []L
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// meaning is everything that is derived from o.
func meaning(o hcp.Objects) string {
	request, facts := hcp.Translate(o, network.Plan{})
	nodes, _ := hcp.EdgeNodeSelector(o)
	sources := networks.SettingSources(o, request.Networks...)
	other, _ := hcp.NewNeighbor(o, network.Plan{}).For(o.HostedCluster, networks.All(o, network.Plan{}))
	text, err := json.Marshal([]any{request, facts, nodes, sources, other, networks.NodePoolSizes(o), networks.Attached(o), hcp.OptedIn(o.HostedCluster),
		hcp.Paused(o.HostedCluster, time.Unix(0, 0)), networks.VMWithMAC(o, "02:00:00:00:00:01"), management.ServiceAddresses(o.Services, nil),
		slices.DeleteFunc(slices.Clone(o.HostedCluster.Status.Conditions), func(c metav1.Condition) bool { return !strings.HasPrefix(c.Type, settings.Prefix) })})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// A field is one of the imported types: names and indices from hcp.Objects to it.
type field struct {
	names []string
	index []int
}

// fieldsBelow returns the fields of t that have a simple value, with those of nested types.
func fieldsBelow(t reflect.Type, at field, within []reflect.Type) []field {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[ipnet.IPNet](), t == reflect.TypeFor[intstr.IntOrString](), t == reflect.TypeFor[map[string]string]():
		return []field{at}
	case t.Kind() == reflect.String, t.Kind() == reflect.Bool, t.Kind() == reflect.Int32, t.Kind() == reflect.Int64:
		return []field{at}
	case t.Kind() != reflect.Struct, slices.Contains(within, t):
		return nil
	}
	var out []field
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && f.Name != "TypeMeta" && f.Name != "ManagedFields" {
			below := field{names: append(slices.Clone(at.names), f.Name), index: append(slices.Clone(at.index), i)}
			out = append(out, fieldsBelow(f.Type, below, append(slices.Clone(within), t))...)
		}
	}
	return out
}

// set gives the field of v a value. ok is false if an object has none to set it in.
func (f field) set(v reflect.Value, value string) (ok bool) {
	for i, index := range f.index {
		v = v.Field(index)
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
			switch {
			case v.Kind() == reflect.Pointer && v.IsNil():
				v.Set(reflect.New(v.Type().Elem()))
			case v.Kind() == reflect.Slice && v.Len() == 0 && i == 0:
				return false
			case v.Kind() == reflect.Slice && v.Len() == 0:
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
				if c, ok := v.Index(0).Addr().Interface().(*metav1.Condition); ok {
					c.Type = settings.Prefix + "X"
				}
			}
			if v.Kind() == reflect.Slice {
				v = v.Index(0)
			} else {
				v = v.Elem()
			}
		}
	}
	switch {
	case v.Kind() == reflect.String:
		v.SetString(value)
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanInt():
		v.SetInt(v.Int() + 3)
	case v.Type() == reflect.TypeFor[map[string]string]():
		v.Set(reflect.ValueOf(map[string]string{settings.Prefix + "lease-time": "31m", "hypershift.openshift.io/internal-route": "true", wire.AnnotationResourceName: value}))
	case v.Type() == reflect.TypeFor[ipnet.IPNet]():
		v.Set(reflect.ValueOf(*ipnet.MustParseCIDR("10.9.0.0/16")))
	case v.Type() == reflect.TypeFor[intstr.IntOrString]():
		v.Set(reflect.ValueOf(intstr.FromInt32(7)))
	}
	return true
}

// TestEveryFieldThatIsReadIsDecoded sets each field of the imported types in some stories. What is
// derived from the whole objects is equal to what is derived from the objects in the cache.
func TestEveryFieldThatIsReadIsDecoded(t *testing.T) {
	values := []string{"x.example.com:443", "10.9.0.0/16", "true", "NodePort", "Route", "OIDC", "InPlace", "None", "passthrough", "02:00:00:00:00:01", "HostedCluster"}
	var fields []field
	for _, name := range []string{"HostedCluster", "NodePools", "NetworkAttachmentDefinitions", "Routes", "VMs", "Services"} {
		f, _ := reflect.TypeFor[hcp.Objects]().FieldByName(name)
		fields = append(fields, fieldsBelow(f.Type, field{names: []string{name}, index: f.Index}, nil)...)
	}
	changes := 0
	for number, story := range storyObjects(t) {
		if d := cmp.Diff(meaning(story), meaning(asCached(t, story))); d != "" {
			t.Fatal(d)
		}
		for i, f := range fields {
			if (i+number)%16 != 0 {
				continue
			}
			o := deepCopy(story)
			o.Routes = copies(o.Routes, func(x *routev1.Route) routev1.Route { return *x.DeepCopy() })
			o.Services = copies(o.Services, func(x *corev1.Service) corev1.Service { return *x.DeepCopy() })
			o.VMs = decode(t, o.VMs, lenient.VirtualMachineInstance{})
			if !f.set(reflect.ValueOf(&o).Elem(), values[(i/16+number)%len(values)]) {
				continue
			}
			changes++
			if whole, cached := meaning(o), meaning(asCached(t, o)); whole != cached {
				t.Errorf("%s is read, but hcp/lenient/fields.go does not have it:\n%s", strings.Join(f.names, "."), cmp.Diff(whole, cached))
			}
		}
	}
	t.Logf("%d changes of %d fields", changes, len(fields))
}
