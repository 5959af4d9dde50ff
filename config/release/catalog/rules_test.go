package catalog

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// A submission is a pull request to the community catalog: its files below operators/oooi/, and their contents.
type submission struct {
	files   Files
	version string
	csv     object
	labels  map[string]string
	objects map[string]object
}

// read parses what a pipeline reads. files are those of [Bundle.Community].
func read(files Files) (submission, error) {
	s := submission{files: Files{}, objects: map[string]object{}}
	for name, text := range files {
		name = strings.TrimPrefix(name, "operators/oooi/")
		s.files[name] = text
		if dir := path.Dir(name); path.Base(dir) != "manifests" {
			continue
		}
		o := object{}
		if err := yaml.Unmarshal(text, &o); err != nil {
			return s, err
		}
		s.objects[path.Base(name)] = o
		if o["kind"] == "ClusterServiceVersion" {
			s.csv, s.version = o, path.Dir(path.Dir(name))
		}
	}
	var metadata struct{ Annotations map[string]string }
	err := yaml.Unmarshal(s.files[s.version+"/metadata/annotations.yaml"], &metadata)
	s.labels = metadata.Annotations
	return s, err
}

// at returns the value at a path of keys such as "spec.icon", or nil.
func (o object) at(keys string) any {
	var v any = map[string]any(o)
	for key := range strings.SplitSeq(keys, ".") {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

func (o object) text(keys string) string {
	if v := o.at(keys); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

// named are the rules of names: the package is the same in the directory, the metadata and the ClusterServiceVersion.
func named(s submission) (found []string) {
	name, version, _ := strings.Cut(s.csv.text("metadata.name"), ".v")
	if name != "oooi" || s.labels["operators.operatorframework.io.bundle.package.v1"] != name {
		found = append(found, "name: "+name)
	}
	if version != s.version || s.csv.text("spec.version") != version || !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(version) {
		found = append(found, "version: "+version)
	}
	if len(s.csv.text("metadata.name")) > 63 {
		found = append(found, "name is too long")
	}
	return found
}

// described are the fields that the pipeline wants, with what it accepts.
func described(s submission) (found []string) {
	patterns := map[string]string{
		"metadata.annotations.containerImage": `^([^/]+/)+[^/:]+:.+`,
		"metadata.annotations.repository":     `^https://.+`,
		"metadata.annotations.support":        `.{3,}`,
		"metadata.annotations.description":    `.{10,}`,
		"metadata.annotations.capabilities":   `^(Basic Install|Seamless Upgrades|Full Lifecycle|Deep Insights|Auto Pilot)$`,
		"metadata.annotations.categories":     `^(Networking|OpenShift Optional|Security|Monitoring)(, (Networking|OpenShift Optional|Security|Monitoring))*$`,
		"spec.displayName":                    `^.{3,50}$`,
		"spec.description":                    `(?s)^.{20,}`,
		"spec.provider.name":                  `.{3,}`,
		"spec.maintainers":                    `email:\S+@\S+ name:\S+`,
		"spec.links":                          `url:https://`,
		"spec.keywords":                       `^\[.+\]$`,
	}
	for _, field := range slices.Sorted(maps.Keys(patterns)) {
		if !regexp.MustCompile(patterns[field]).MatchString(s.csv.text(field)) {
			found = append(found, field)
		}
	}
	if _, err := time.Parse(time.RFC3339, s.csv.text("metadata.annotations.createdAt")); err != nil {
		found = append(found, "metadata.annotations.createdAt")
	}
	icons, _ := s.csv.at("spec.icon").([]any)
	if len(icons) != 1 {
		return append(found, "spec.icon")
	}
	icon, _ := icons[0].(map[string]any)
	if data, err := base64.StdEncoding.DecodeString(object(icon).text("base64data")); err != nil || len(data) == 0 || icon["mediatype"] != "image/svg+xml" {
		found = append(found, "spec.icon")
	}
	return found
}

// bundled are the kinds that a bundle can hold and that every Kubernetes has. OLM 0.45 fails the whole InstallPlan if the
// cluster has no such kind (ExecutePlan in pkg/controller/operators/catalog/operator.go; it never reads a step's field
// optional). That excludes the kinds of Prometheus Operator and of OpenShift's console. It installs no PodMonitor at all
// (supportedresources.go there). NetworkPolicy is a kind of both, but the pipeline refuses it.
func bundled(s submission) (found []string) {
	kinds := []string{"ClusterServiceVersion", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Service", "ServiceAccount", "Secret", "ConfigMap",
		"PodDisruptionBudget", "PriorityClass"}
	services := 0
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		kind := s.objects[name].text("kind")
		if !slices.Contains(kinds, kind) {
			found = append(found, name+": "+kind)
		}
		if kind == "ClusterServiceVersion" {
			services++
		}
	}
	if services != 1 {
		found = append(found, fmt.Sprint("ClusterServiceVersions: ", services))
	}
	return found
}

// extensible are the rules of OLM v1: all namespaces, no dependencies, no webhooks or API services, unique names.
func extensible(s submission) (found []string) {
	modes, _ := s.csv.at("spec.installModes").([]any)
	for _, mode := range modes {
		m, _ := mode.(map[string]any)
		if m["supported"] != (m["type"] == "AllNamespaces") {
			found = append(found, fmt.Sprint("installModes: ", m["type"]))
		}
	}
	for _, field := range []string{"spec.webhookdefinitions", "spec.apiservicedefinitions.owned", "spec.apiservicedefinitions.required",
		"spec.customresourcedefinitions.required", "spec.nativeAPIs"} {
		if s.csv.at(field) != nil {
			found = append(found, field)
		}
	}
	for name := range s.files {
		if base := path.Base(name); base == "dependencies.yaml" || base == "properties.yaml" {
			found = append(found, base)
		}
	}
	deployments, _ := s.csv.at("spec.install.spec.deployments").([]any)
	seen := map[string]bool{}
	for _, d := range deployments {
		m, _ := d.(map[string]any)
		if name := object(m).text("name"); name == "" || seen[name] {
			found = append(found, "deployment "+name)
		} else {
			seen[name] = true
		}
	}
	return found
}

// versioned: minKubeVersion is that of the oldest OpenShift (4.18 is Kubernetes 1.31), and channels have names that sort.
func versioned(s submission) (found []string) {
	var openshift, kubernetes int
	if _, err := fmt.Sscanf(s.labels["com.redhat.openshift.versions"], "v4.%d", &openshift); err != nil {
		found = append(found, "com.redhat.openshift.versions")
	}
	if _, err := fmt.Sscanf(s.csv.text("spec.minKubeVersion"), "1.%d.0", &kubernetes); err != nil || kubernetes != openshift+13 {
		found = append(found, "minKubeVersion")
	}
	channel := s.labels["operators.operatorframework.io.bundle.channels.v1"]
	if !regexp.MustCompile(`^(stable|fast|candidate)`).MatchString(channel) || channel != s.labels["operators.operatorframework.io.bundle.channel.default.v1"] {
		found = append(found, "channel "+channel)
	}
	return found
}

// released: release-config.yaml and ci.yaml have the pipeline's schema, and name the same template and channel.
func released(s submission) (found []string) {
	var ci struct {
		Reviewers []string
		FBC       struct {
			Enabled  bool   `json:"enabled"`
			Strategy string `json:"version_promotion_strategy"`
			Mapping  []struct {
				Template string   `json:"template_name"`
				Type     string   `json:"type"`
				Catalogs []string `json:"catalog_names"`
			} `json:"catalog_mapping"`
		} `json:"fbc"`
	}
	var config struct {
		Templates []struct {
			Name     string   `json:"template_name"`
			Channels []string `json:"channels"`
			Replaces string   `json:"replaces"`
			Skipped  string   `json:"skipRange"`
		} `json:"catalog_templates"`
	}
	if err := yaml.UnmarshalStrict(s.files["ci.yaml"], &ci); err != nil {
		found = append(found, "ci.yaml: "+err.Error())
	}
	if err := yaml.UnmarshalStrict(s.files[s.version+"/release-config.yaml"], &config); err != nil {
		found = append(found, "release-config.yaml: "+err.Error())
	}
	if len(ci.Reviewers) == 0 || !ci.FBC.Enabled || len(ci.FBC.Mapping) == 0 || len(config.Templates) == 0 ||
		!slices.Contains([]string{"review-needed", "always", "never"}, ci.FBC.Strategy) {
		return append(found, "ci.yaml or release-config.yaml: a field is missing")
	}
	for _, m := range ci.FBC.Mapping {
		if m.Type != "olm.template.basic" || len(m.Catalogs) == 0 || s.files["catalog-templates/"+m.Template] == nil || m.Template != config.Templates[0].Name {
			found = append(found, "template "+m.Template)
		}
		if !strings.HasPrefix(s.labels["com.redhat.openshift.versions"], m.Catalogs[0]) {
			found = append(found, "catalog "+m.Catalogs[0])
		}
	}
	if !slices.Equal(config.Templates[0].Channels, []string{s.labels["operators.operatorframework.io.bundle.channels.v1"]}) {
		found = append(found, "release-config.yaml: channels")
	}
	return found
}

// small: OLM stores the compressed bundle in a ConfigMap of at most 1 MiB, and warns from 85 %.
func small(s submission) (found []string) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		if _, err := zip.Write(s.files[s.version+"/manifests/"+name]); err != nil {
			return []string{err.Error()}
		}
	}
	if err := zip.Close(); err != nil || out.Len() > 1<<20*85/100 {
		return []string{fmt.Sprint("compressed size ", out.Len())}
	}
	return nil
}

func violations(t *testing.T, files Files) (found []string) {
	t.Helper()
	s, err := read(files)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, rule := range []func(submission) []string{named, described, bundled, extensible, versioned, released, small} {
		found = append(found, rule(s)...)
	}
	return found
}

// TestCatalogsAcceptTheBundle: the static checks of the community catalog's pipeline and of OLM v1 find nothing, and each
// finds what it is for.
func TestCatalogsAcceptTheBundle(t *testing.T) {
	g := NewWithT(t)
	read, err := Read(os.DirFS("../../../bundle"))
	g.Expect(err).NotTo(HaveOccurred())
	refs, err := read.Digests(map[string]string{"ghcr.io/cldmnky/oooi": "registry.example.com/oooi@sha256:0", "ghcr.io/cldmnky/oooi-edge": "registry.example.com/oooi-edge@sha256:0"})
	g.Expect(err).NotTo(HaveOccurred())
	bundle, err := read.Pin(refs) // what a release submits
	g.Expect(err).NotTo(HaveOccurred())
	files, err := bundle.Community()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(violations(t, files)).To(BeEmpty())

	dir := "operators/oooi/" + bundle.Version
	csv, ci, config := dir+"/manifests/oooi.clusterserviceversion.yaml", "operators/oooi/ci.yaml", dir+"/release-config.yaml"
	for what, c := range map[string]struct{ file, from, to, want string }{
		"another package":     {csv, "name: oooi.v", "name: other.v", "name: other"},
		"another version":     {csv, "  version: " + bundle.Version, "  version: 9.9.9", "version: "},
		"no support":          {csv, "support: Community", "support: ''", "metadata.annotations.support"},
		"unknown category":    {csv, "categories: Networking", "categories: Netting", "metadata.annotations.categories"},
		"broken icon":         {csv, "base64data: ", "base64data: '!' #", "spec.icon"},
		"another date":        {csv, "createdAt: ", "createdAt: yesterday #", "metadata.annotations.createdAt"},
		"own namespace only":  {csv, "supported: false", "supported: true", "installModes: OwnNamespace"},
		"a requirement":       {csv, "customresourcedefinitions: {}", "customresourcedefinitions: {required: [{kind: HostedCluster}]}", "spec.customresourcedefinitions.required"},
		"older Kubernetes":    {csv, "minKubeVersion: 1.31.0", "minKubeVersion: 1.30.0", "minKubeVersion"},
		"a network policy":    {dir + "/manifests/x.yaml", "", "kind: NetworkPolicy", "x.yaml: NetworkPolicy"},
		"alerts":              {dir + "/manifests/x.yaml", "", "kind: PrometheusRule", "x.yaml: PrometheusRule"},
		"a monitor of pods":   {dir + "/manifests/x.yaml", "", "kind: PodMonitor", "x.yaml: PodMonitor"},
		"a quick start":       {dir + "/manifests/x.yaml", "", "kind: ConsoleQuickStart", "x.yaml: ConsoleQuickStart"},
		"an admission policy": {dir + "/manifests/x.yaml", "", "kind: ValidatingAdmissionPolicy", "x.yaml: ValidatingAdmissionPolicy"},
		"dependencies":        {dir + "/metadata/dependencies.yaml", "", "dependencies: []", "dependencies.yaml"},
		"another channel":     {dir + "/metadata/annotations.yaml", "channels.v1: candidate", "channels.v1: alpha", "channel alpha"},
		"no FBC":              {ci, "enabled: true", "enabled: false", "a field is missing"},
		"unknown template":    {ci, "template_name: basic.yaml", "template_name: other.yaml", "template other.yaml"},
		"unknown field":       {config, "catalog_templates:", "extra: true\ncatalog_templates:", "release-config.yaml: "},
		"channel elsewhere":   {config, "- candidate", "- stable", "release-config.yaml: channels"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			bad := maps.Clone(files)
			g.Expect(string(bad[c.file])).To(ContainSubstring(c.from))
			bad[c.file] = []byte(strings.Replace(string(bad[c.file]), c.from, c.to, 1))
			g.Expect(violations(t, bad)).To(ContainElement(ContainSubstring(c.want)))
		})
	}
}
