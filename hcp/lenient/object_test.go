package lenient_test

import (
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/lenient"
)

// decoded decodes the items as a list of the API server.
func decoded[E any, P interface {
	*E
	runtime.Object
}](t testing.TB, items ...string) lenient.List[E, P] {
	t.Helper()
	var out lenient.List[E, P]
	if err := json.Unmarshal([]byte(`{"items":[`+strings.Join(items, ",")+`]}`), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOneBadObjectInAList: the imported types cannot decode some objects in a list. The other objects of the list are read.
func TestOneBadObjectInAList(t *testing.T) {
	const good = `{"metadata":{"namespace":"clusters","name":"good"},"spec":{"clusterName":"blue","replicas":3}}`
	for what, c := range map[string]struct {
		object     string
		unreadable []lenient.Unreadable
	}{
		"a field that is not read":       {`{"spec":{"clusterName":"red","nodeDrainTimeout":"five minutes"}}`, nil},
		"unknown fields":                 {`{"future":{"a":[1]},"spec":{"clusterName":"red","future":true}}`, nil},
		"a number that is a text now":    {`{"spec":{"clusterName":"red","replicas":"three"}}`, []lenient.Unreadable{{Field: "spec.replicas", Err: "want int32, not string"}}},
		"an object that is a list now":   {`{"spec":{"clusterName":"red","autoScaling":[1]}}`, []lenient.Unreadable{{Field: "spec.autoScaling", Err: "want an object, not a list"}}},
		"a list that is an object now":   {`{"spec":{"clusterName":"red","platform":{"kubevirt":{"additionalNetworks":{}}}}}`, []lenient.Unreadable{{Field: "spec.platform.kubevirt.additionalNetworks[]", Err: "want a list, not an object"}}},
		"elements that are texts now":    {`{"spec":{"clusterName":"red","platform":{"kubevirt":{"additionalNetworks":["a"]}}}}`, []lenient.Unreadable{{Field: "spec.platform.kubevirt.additionalNetworks[]", Err: "want an object, not a string"}}},
		"a field of elements":            {`{"spec":{"clusterName":"red","platform":{"kubevirt":{"additionalNetworks":[{"name":"a"},{"name":7}]}}}}`, []lenient.Unreadable{{Field: "spec.platform.kubevirt.additionalNetworks[].name", Err: "want string, not number"}}},
		"two fields":                     {`{"spec":{"clusterName":"red","replicas":{},"release":{"image":1}}}`, []lenient.Unreadable{{Field: "spec.release.image", Err: "want string, not number"}, {Field: "spec.replicas", Err: "want int32, not object"}}},
		"annotations":                    {`{"metadata":{"name":"x","annotations":7},"spec":{"clusterName":"red"}}`, []lenient.Unreadable{{Field: "metadata.annotations", Err: "want an object, not a number"}}},
		"names with escapes and nesting": {`{"sp\u0065c":{"cluster\u004eame":"red","x":"}]\\\"","nodeDrainTimeout":{"a":"{["}}}`, nil},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			list := decoded[lenient.NodePool](t, good, c.object, good)
			g.Expect(list.Items).To(HaveLen(3))
			for _, i := range []int{0, 2} {
				g.Expect(list.Items[i].Fields.Spec.Replicas).To(HaveValue(Equal(int32(3))))
				g.Expect(list.Items[i].Unreadable).To(BeEmpty())
			}
			g.Expect(list.Items[1].Fields.Spec.ClusterName).To(Equal("red"))
			g.Expect(list.Items[1].Unreadable).To(Equal(c.unreadable))
		})
	}
}

// TestLabelsTakeRoom: each label counts with its entry in the map, which is larger than the text of a small one.
func TestLabelsTakeRoom(t *testing.T) {
	g := NewWithT(t)
	var all []string
	for i := range 3_000 {
		all = append(all, fmt.Sprintf(`"l%d":""`, i))
	}
	np := decoded[lenient.NodePool](t, `{"metadata":{"name":"x"},"spec":{"platform":{"kubevirt":{"nodeSelector":{`+strings.Join(all, ",")+`}}}}}`).Items[0]
	g.Expect(np.Unreadable).To(ConsistOf(HaveField("Field", "spec.platform.kubevirt.nodeSelector")))
	g.Expect(np.Fields.Spec.Platform.Kubevirt.NodeSelector).To(BeEmpty())
}

// TestLargeObjectsAreKeptInPart: of an object that is twice as large as what is kept of one, the fields that are too large are not
// kept. All others are, and all of other objects.
func TestLargeObjectsAreKeptInPart(t *testing.T) {
	const kept = 128 << 10
	list := func(element string) string {
		return "[" + strings.Repeat(element+",", 2*kept/len(element)) + element + "]"
	}
	for field, c := range map[string]struct{ metadata, spec string }{
		"metadata.ownerReferences":                    {`"ownerReferences":` + list(`{"kind":"HostedCluster","name":"blue"}`), `"replicas":3`},
		"spec.config[]":                               {`"name":"x"`, `"replicas":3,"config":` + list(`{"name":"a"}`)},
		"spec.platform.kubevirt.additionalNetworks[]": {`"name":"x"`, `"platform":{"kubevirt":{"additionalNetworks":` + list(`{}`) + `,"attachDefaultNetwork":false}},"replicas":3`},
		"spec.platform.kubevirt.nodeSelector":         {`"name":"x"`, `"platform":{"kubevirt":{"nodeSelector":{"a":"` + strings.Repeat("x", 2*kept) + `"}}},"replicas":3`},
	} {
		t.Run(field, func(t *testing.T) {
			g := NewWithT(t)
			object := `{"metadata":{` + c.metadata + `},"spec":{"clusterName":"red",` + c.spec + `}}`
			all := decoded[lenient.NodePool](t, object, `{"spec":{"clusterName":"blue","replicas":3}}`)
			large := all.Items[0]
			g.Expect(large.Unreadable).To(ConsistOf(HaveField("Field", field)))
			g.Expect(large.Fields.OwnerReferences).To(BeEmpty())
			g.Expect(large.Fields.Spec.Config).To(BeEmpty())
			if k := large.Fields.Spec.Platform.Kubevirt; k != nil {
				g.Expect(k.AdditionalNetworks).To(BeEmpty())
				g.Expect(k.NodeSelector).To(BeEmpty())
			}
			for _, np := range all.Items {
				g.Expect(np.Fields.Spec.ClusterName).NotTo(BeEmpty())
				g.Expect(np.Fields.Spec.Replicas).To(HaveValue(Equal(int32(3))))
			}
			g.Expect(all.Items[1].Unreadable).To(BeEmpty())
		})
	}
}

// TestAnnotationsThatAreKept: oooi's, those that it reports as misspelled, and HyperShift's. However many annotations a tenant
// writes, an object needs no more memory than what is kept of one. What oooi reads stays.
func TestAnnotationsThatAreKept(t *testing.T) {
	const kept, most, optIn = 128 << 10, 255 << 10, "hostedcluster.densityops.com/network"
	few := decoded[lenient.HostedCluster](t, `{"metadata":{"name":"a","annotations":{"`+optIn+`":"auto","hostedcluster.densityops.com/cidr.pool":"x","hostedcluster.densityops.com/other":"",
		"HostedClusters.densityops.com/x":"","cidr":"","gateway.pool":"","densityops.com/mtu":"","hypershift.openshift.io/mtu":"","k8s.v1.cni.cncf.io/resourceName":"r\n",
		"oadp.openshift.io/paused-by":"","hypershift.openshift.io/image-overrides":"a=b","kubectl.kubernetes.io/last-applied-configuration":"{}","example.com/cidr":"","x":"y"}}}`).Items[0]
	g := NewWithT(t)
	g.Expect(few.Unreadable).To(BeEmpty())
	g.Expect(few.Annotations).To(HaveLen(11))
	g.Expect(few.Annotations).To(HaveKeyWithValue("k8s.v1.cni.cncf.io/resourceName", "r\n"))

	for name, c := range map[string]struct {
		key string
		too bool
	}{
		"of others":    {"%05x", false},
		"unknown":      {"hostedcluster.densityops.com/%05x", true},
		"misspelled":   {"hostedclusters.densityops.com/%05x", true},
		"of NodePools": {"hostedcluster.densityops.com/cidr.%05x", true},
		"HyperShift's": {"hypershift.openshift.io/%05x", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var text strings.Builder
			for i := 0; text.Len() < most; i++ {
				fmt.Fprintf(&text, `"`+c.key+`":"aaaaa",`, i)
			}
			item := `{"metadata":{"name":"a","annotations":{` + text.String() + `"` + optIn + `":"auto"}},"spec":{"dns":{"baseDomain":"` + strings.Repeat("x", 20<<10) + `"}}}`
			before := live()
			list := decoded[lenient.HostedCluster](t, slices.Repeat([]string{item}, 20)...)
			g.Expect((live() - before) / 20).To(BeNumerically("<", kept))
			for _, hc := range list.Items {
				g.Expect(hc.Annotations).To(HaveKeyWithValue(optIn, "auto"))
				g.Expect(hc.Fields.Spec.DNS.BaseDomain).To(HaveLen(20 << 10))
				g.Expect(len(hc.Unreadable) == 1 && hc.Unreadable[0].Field == "metadata.annotations").To(Equal(c.too), "%v", hc.Unreadable)
			}
		})
	}
}

// live is how much memory is in use, in bytes.
func live() int64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestVMsWithoutANetworkAreSmall: of a VM that is on no network of Multus, only metadata is kept. The
// interfaces that its guest agent reports are not kept of any VM.
func TestVMsWithoutANetworkAreSmall(t *testing.T) {
	g := NewWithT(t)
	list := decoded[lenient.VirtualMachineInstance](t,
		`{"metadata":{"name":"a","namespace":"other","labels":{"x":"y"},"annotations":{"x":"y"}},"spec":{"networks":[{"name":"default","pod":{}}],"domain":{"cpu":"new"}}}`,
		`{"metadata":{"name":"b"},"spec":{"networks":[{"name":"n","multus":{"networkName":"vlan100","future":1}}]},
		  "status":{"interfaces":[{"name":"n","mac":"02:00:00:00:00:01","ipAddress":"192.168.100.20","infoSource":"domain"},{"interfaceName":"br-ex","ipAddress":"192.168.100.2"}]}}`)
	a, b := list.Items[0], list.Items[1]
	g.Expect(a.Spec).To(BeZero())
	g.Expect(a.Status).To(BeZero())
	g.Expect(a.Name + a.Namespace).To(Equal("aother"))
	g.Expect(a.Labels).To(BeEmpty())
	g.Expect(a.Unreadable).To(BeEmpty())
	g.Expect(b.Spec.Networks[0].Multus.NetworkName).To(Equal("vlan100"))
	g.Expect(b.Status.Interfaces).To(Equal([]lenient.VMInterface{{Name: "n", MAC: "02:00:00:00:00:01", IP: "192.168.100.20"}}))
	g.Expect(b.GetObjectKind().GroupVersionKind()).To(Equal(kubevirtv1.VirtualMachineInstanceGroupVersionKind), "events need it")
}

// TestConditionsOfOthers: HyperShift and others report conditions with texts of up to 32 KiB each. None makes a field unreadable.
func TestConditionsOfOthers(t *testing.T) {
	g := NewWithT(t)
	const other = `{"type":"Degraded","status":"True","reason":"X","message":"`
	hc := decoded[lenient.HostedCluster](t, `{"metadata":{"name":"a"},"spec":{"dns":{"baseDomain":"`+strings.Repeat("x", 120<<10)+`"}},"status":{"conditions":[`+
		strings.Repeat(other+strings.Repeat("x", 32<<10)+`"},`, 20)+`{"type":"hostedcluster.densityops.com/NetworkReady","status":"True"}],"ignitionEndpoint":"i.example.com"}}`).Items[0]
	g.Expect(hc.Unreadable).To(BeEmpty())
	g.Expect(hc.Fields.Status.Conditions).To(ConsistOf(HaveField("Type", "hostedcluster.densityops.com/NetworkReady")))
	g.Expect(hc.Fields.Status.IgnitionEndpoint).To(Equal("i.example.com"))
}

// TestRefusalsAreKept: of what HyperShift refuses, the beginning is kept. However much is written to the status of an object, that makes
// no field unreadable, and little of it is kept.
func TestRefusalsAreKept(t *testing.T) {
	g, name := NewWithT(t), strings.Repeat("x", 120<<10)
	refusal := func(of string) string {
		return `{"type":"` + of + `","status":"False","reason":"` + strings.Repeat("y", 9<<10) + `","message":"` + strings.Repeat("z", 32<<10) + `","observedGeneration":7},`
	}
	conditions := `"conditions":[` + strings.Repeat(refusal("ValidReleaseImage"), 100) + refusal("Other") + `{"type":"ValidMachineConfig","status":"True","message":7}]`
	hc := decoded[lenient.HostedCluster](t, `{"metadata":{"name":"a"},"spec":{"dns":{"baseDomain":"`+name+`"}},"status":{`+conditions+`}}`).Items[0]
	g.Expect(hc.Unreadable).To(BeEmpty())
	g.Expect(hc.Fields.Spec.DNS.BaseDomain).To(Equal(name))
	g.Expect(hc.Fields.Status.Conditions).To(HaveLen(16))
	first := hc.Fields.Status.Conditions[0]
	g.Expect([]any{first.Type, first.Status, first.ObservedGeneration}).To(Equal([]any{"ValidReleaseImage", metav1.ConditionFalse, int64(7)}))
	valid := decoded[lenient.HostedCluster](t, `{"metadata":{"name":"a"},"status":{"conditions":[{"type":"ValidConfiguration","status":"True","message":"`+name+`"},{"type":"ReconciliationSucceeded","status":"True"}]}}`).Items[0]
	g.Expect(valid.Fields.Status.Conditions).To(HaveExactElements(metav1.Condition{Type: "ValidConfiguration"}), "that HyperShift validates is read")

	np := decoded[lenient.NodePool](t, `{"metadata":{"name":"a"},"spec":{"clusterName":"blue","release":{"image":"`+name+`"}},"status":{`+strings.ReplaceAll(conditions, `"False"`, `"`+strings.Repeat("F", 9)+`"`)+`}}`,
		`{"metadata":{"name":"b"},"spec":{"clusterName":"blue","release":{"image":"`+name+`"}},"status":{"replicas":2,`+conditions+`}}`,
		`{"metadata":{"name":"c"},"status":{"conditions":[`+strings.Repeat(`{"type":"ValidGeneratedPayload","status":"`+name+`","reason":"InvalidConfig","message":"m"},`, 9)+`"x"]}}`).Items
	for _, one := range np {
		g.Expect(one.Unreadable).To(BeEmpty())
		kept := 0
		for _, c := range one.Fields.Status.Conditions {
			kept += len(c.Type) + len(c.Status) + len(c.Reason) + len(c.Message)
		}
		g.Expect(kept).To(BeNumerically("<", 10<<10))
	}
	g.Expect(np[0].Fields.Status.Conditions).To(BeEmpty())
	g.Expect(np[1].Fields.Status.Conditions).To(HaveLen(16))
	g.Expect(np[1].Fields.Spec.Release.Image).To(Equal(name))
	g.Expect(np[1].Fields.Status.Replicas).To(Equal(int32(2)))
	g.Expect(np[2].Fields.Status.Conditions[0].Message).To(Equal("m"))
}

// TestGuestsDoNotStopTheirCluster: the guest agent of a VM reports what it likes, and a node has an interface for each of its pods.
// Neither makes a field unreadable, which would be an Error of the hosted cluster. Of the VM, all else is read.
func TestGuestsDoNotStopTheirCluster(t *testing.T) {
	const kept = 128 << 10
	long := strings.Repeat("9", 2*kept)
	own := func(addresses string) string {
		return `{"ipAddress":"192.168.100.20","mac":"02:00:00:00:00:01","name":"n","ipAddresses":["192.168.100.20"` + addresses + `],"infoSource":"domain, guest-agent"}`
	}
	for name, interfaces := range map[string]string{
		"a node with many pods": own("") + strings.Repeat(`,{"ipAddress":"fe80::1","mac":"02:00:00:00:00:02","ipAddresses":["fe80::1"],"interfaceName":"a"}`, 2000),
		"many addresses":        own(strings.Repeat(`,"fd00::1"`, 2*kept/10)),
		"long addresses":        own(`,"`+long+`"`) + `,{"ipAddress":"` + long + `","mac":"` + long + `","ipAddresses":["` + long + `"]}`,
		"a name that is not":    `{"name":"` + long + `"},` + own(""),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			vm := decoded[lenient.VirtualMachineInstance](t, `{"metadata":{"name":"a"},"spec":{"networks":[{"name":"n","multus":{"networkName":"vlan100"}}]},
			  "status":{"interfaces":[`+interfaces+`],"conditions":[{"type":"MigrationRequired"}]}}`).Items[0]
			g.Expect(vm.Unreadable).To(BeEmpty())
			g.Expect(vm.HasOtherNetworks()).To(BeTrue())
			g.Expect(vm.Status.Interfaces).To(HaveLen(1))
			x := vm.Status.Interfaces[0]
			g.Expect([]string{x.Name, x.MAC, x.IP, x.IPs[0]}).To(Equal([]string{"n", "02:00:00:00:00:01", "192.168.100.20", "192.168.100.20"}))
			g.Expect(len(x.IPs)).To(BeNumerically("<=", 64))
		})
	}
}

// TestVMsThatHaveNotStarted: of what keeps a VM from starting, little is kept, and nothing once it runs. Each attempt to pull an image
// reports the same.
func TestVMsThatHaveNotStarted(t *testing.T) {
	g, long := NewWithT(t), strings.Repeat("x", 200<<10)
	vm := func(phase, conditions string) lenient.VirtualMachineInstance {
		return decoded[lenient.VirtualMachineInstance](t, `{"metadata":{"name":"a"},"spec":{"networks":[{"name":"n","multus":{"networkName":"vlan100"}}]},
		  "status":{"conditions":[{"type":"Ready","status":"False"},`+conditions+`],"phase":"`+phase+`"}}`).Items[0]
	}
	unscheduled := `{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes are available"}`
	failed := `{"type":"Synchronized","status":"False","reason":"` + long + `","message":7}`
	broken := `{"type":"Synchronized","status":"False","reason":"FailedCreate","message":"` + long[:32<<10] + `"}`
	starting := vm("Pending", unscheduled+","+failed+","+broken)
	g.Expect(starting.Unreadable).To(BeEmpty())
	g.Expect(starting.HasOtherNetworks()).To(BeFalse())
	g.Expect(starting.Status.Conditions).To(HaveExactElements(
		And(HaveField("Reason", "Unschedulable"), HaveField("Message", "")),
		And(HaveField("Reason", ""), HaveField("Message", "")),
		And(HaveField("Reason", "FailedCreate"), HaveField("Message", HaveLen(128)))))
	g.Expect(vm("Running", unscheduled+","+failed).Status).To(Equal(lenient.VMStatus{Conditions: []lenient.VMCondition{}}))
	pull := func(reason string) []lenient.VMCondition {
		return vm("Scheduling", `{"type":"Synchronized","status":"False","reason":"`+reason+`","message":"of `+reason+`","lastTransitionTime":"2026-11-21T03:54:`+fmt.Sprint(10+len(reason))+`Z"}`).Status.Conditions
	}
	g.Expect(pull("ErrImagePull")).To(And(HaveLen(1), Equal(pull("ImagePullBackOff"))))
	g.Expect(vm("Scheduling", strings.ReplaceAll(unscheduled, "False", "True")).Status.Conditions).To(BeEmpty())
}

// TestMachinesWithoutVMs: of condition AllMachinesReady, only the reasons of Machines without VMs are kept, and when it began.
func TestMachinesWithoutVMs(t *testing.T) {
	g := NewWithT(t)
	of := func(reason string) any {
		return decoded[lenient.NodePool](t, `{"metadata":{"name":"a"},"status":{"conditions":[{"type":"AllMachinesReady","status":"False","reason":"`+reason+`","message":"2 of 3","lastTransitionTime":"2026-11-21T03:54:10Z"}]}}`).Items[0].Fields.Status.Conditions
	}
	g.Expect(of("Bootstrapping,DVNotReady,DVPending")).To(HaveExactElements(And(HaveField("Reason", "DVNotReady,DVPending"), HaveField("Message", ""), HaveField("LastTransitionTime.Time.IsZero()", false))))
	g.Expect(of("Bootstrapping")).To(BeEmpty())
}

// TestFinishedVMs: a VM that failed or succeeded is finished. The phase of a VM that runs is not kept.
func TestFinishedVMs(t *testing.T) {
	g := NewWithT(t)
	for phase, finished := range map[string]bool{"Paused": false, "Running": false, "Unknown": false, "Failed": true, "Succeeded": true} {
		vm := decoded[lenient.VirtualMachineInstance](t, `{"metadata":{"name":"a"},"spec":{"networks":[{"name":"n","multus":{"networkName":"vlan100"}}]},"status":{"phase":"`+phase+`"}}`).Items[0]
		g.Expect(vm.Finished()).To(Equal(finished), phase)
		g.Expect(vm.Status.Phase != "").To(Equal(finished), phase)
	}
}

// TestBookmarks: a cache counts as synchronized when it gets this annotation, which only a bookmark has.
func TestBookmarks(t *testing.T) {
	g := NewWithT(t)
	const bookmark = `{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true","other":"x"}}}`
	ended := HaveKeyWithValue(metav1.InitialEventsAnnotationKey, "true")
	g.Expect(decoded[lenient.VirtualMachineInstance](t, bookmark).Items[0].Annotations).To(And(ended, HaveLen(1)))
	g.Expect(decoded[lenient.Route](t, bookmark).Items[0].Annotations).To(ended)
	g.Expect(decoded[lenient.NodePool](t, bookmark).Items[0].Annotations).To(ended)
}

// FuzzObject: no JSON value prevents the decoding of the other objects of a list.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"name":"a","annotations":{"x":"y"}},"spec":{"clusterName":"blue","replicas":3,"management":{"replace":{"rollingUpdate":{"maxSurge":"25%"}}}}}`,
		`{"metadata":{"name":"b"},"spec":{"networks":[{"name":"n","multus":{"networkName":"vlan100"}}],"services":[{"service":"APIServer"}]},"status":{"interfaces":[{"name":"n","ipAddresses":["10.0.0.1"]}]}}`,
		`{"spec":{"networking":{"clusterNetwork":[{"cidr":"10.0.0.0/8"}]},"tls":null,"host":"\u00e4\"\\","port":{"targetPort":8443}}}`,
		`[{"a":"]"}]`, `null`, `"x"`, `-1.5e3`, `{"metadata":[1]}`, `{"metadata":{"name":{},"creationTimestamp":"yesterday","ownerReferences":{}}}`, ` { "spec" : { } } `,
	} {
		f.Add(seed)
	}
	const good = `{"metadata":{"name":"good"},"spec":{"clusterName":"blue","host":"h","config":"{}","networks":[{"name":"n","multus":{"networkName":"vlan100"}}]}}`
	f.Fuzz(func(t *testing.T, object string) {
		if !json.Valid([]byte(object)) {
			return
		}
		g := NewWithT(t)
		pools := decoded[lenient.NodePool](t, good, object, good)
		g.Expect(pools.Items).To(HaveLen(3))
		g.Expect(pools.Items[1].Fields).NotTo(BeNil())
		g.Expect(pools.Items[2].Fields.Spec.ClusterName).To(Equal("blue"))
		vms := decoded[lenient.VirtualMachineInstance](t, good, object, good)
		g.Expect(vms.Items[2].Spec.Networks[0].Multus.NetworkName).To(Equal("vlan100"))
		g.Expect(decoded[lenient.Route](t, object, good).Items[1].Fields.Spec.Host).To(Equal("h"))
		g.Expect(decoded[lenient.NetworkAttachmentDefinition](t, object, good).Items[1].Fields.Spec.Config).To(Equal("{}"))
		clusters := decoded[lenient.HostedCluster](t, object, good)
		g.Expect(clusters.Items[0].Fields).NotTo(BeNil())
		g.Expect(clusters.Items[1].Name).To(Equal("good"))
		again := clusters.DeepCopyObject().(*lenient.HostedClusterList)
		g.Expect(again.Items[0].Unreadable).To(Equal(clusters.Items[0].Unreadable))
	})
}

// TestWhatIsReadOfABadObject: if any one field has a wrong value, all other fields are read.
func TestWhatIsReadOfABadObject(t *testing.T) {
	whole := map[string]any{"metadata": map[string]any{"name": "a", "annotations": map[string]any{"cidr": "y"}},
		"spec": map[string]any{"clusterName": "blue", "replicas": 3, "release": map[string]any{"image": "i"}, "autoScaling": map[string]any{"max": 5},
			"platform": map[string]any{"kubevirt": map[string]any{"additionalNetworks": []any{map[string]any{"name": "n"}}}}}}
	g := NewWithT(t)
	for _, path := range [][]string{{"metadata", "annotations"}, {"spec", "clusterName"}, {"spec", "replicas"}, {"spec", "release"}, {"spec", "autoScaling"}, {"spec", "platform"}} {
		for _, value := range []any{7, -0.5, "text", true, []any{1}, map[string]any{"max": "many", "image": []any{}, "kubevirt": 1}} {
			parent, _ := whole[path[0]].(map[string]any)
			before := parent[path[1]]
			parent[path[1]] = value
			text, err := json.Marshal(whole)
			g.Expect(err).NotTo(HaveOccurred())
			parent[path[1]] = before
			np := decoded[lenient.NodePool](t, string(text)).Items[0]
			for _, u := range np.Unreadable {
				g.Expect(u.Field).To(HavePrefix(strings.Join(path, ".")), "%v", value)
			}
			g.Expect(np.Name).To(Equal("a"))
			read := map[string]bool{
				"annotations": np.Annotations["cidr"] == "y", "clusterName": np.Fields.Spec.ClusterName == "blue", "release": np.Fields.Spec.Release.Image == "i",
				"autoScaling": np.Fields.Spec.AutoScaling != nil && np.Fields.Spec.AutoScaling.Max == 5, "replicas": np.Fields.Spec.Replicas != nil && *np.Fields.Spec.Replicas == 3,
				"platform": np.Fields.Spec.Platform.Kubevirt != nil && len(np.Fields.Spec.Platform.Kubevirt.AdditionalNetworks) == 1,
			}
			delete(read, path[1])
			g.Expect(read).NotTo(ContainElement(false), "%v = %v", path, value)
		}
	}
}
