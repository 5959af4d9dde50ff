package command_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/cldmnky/oooi/cmd/oooi/command"
)

// hosting is an API server with these HostedClusters, each "namespace/name". Without any, the user may not list them. It answers what a
// client asks to find them, and nothing else.
func hosting(t *testing.T, clusters ...string) string {
	answer := func(v any) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			if v == nil {
				rw.WriteHeader(http.StatusForbidden)
				v = map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": http.StatusForbidden}
			}
			_ = json.NewEncoder(rw).Encode(v)
		}
	}
	const group, version = "hypershift.openshift.io", "v1beta1"
	at := map[string]string{"groupVersion": group + "/" + version, "version": version}
	var list any
	if len(clusters) > 0 {
		items := []any{}
		for _, c := range clusters {
			namespace, name, _ := strings.Cut(c, "/")
			items = append(items, map[string]any{"apiVersion": group + "/" + version, "kind": "HostedCluster", "metadata": map[string]string{"namespace": namespace, "name": name}})
		}
		list = map[string]any{"apiVersion": group + "/" + version, "kind": "HostedClusterList", "items": items}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/api", answer(map[string]any{"apiVersion": "v1", "kind": "APIVersions", "versions": []string{"v1"}}))
	mux.HandleFunc("/apis", answer(map[string]any{"apiVersion": "v1", "kind": "APIGroupList", "groups": []any{map[string]any{"name": group, "versions": []any{at}, "preferredVersion": at}}}))
	mux.HandleFunc("/apis/"+group, answer(map[string]any{"apiVersion": "v1", "kind": "APIGroup", "name": group, "versions": []any{at}, "preferredVersion": at}))
	mux.HandleFunc("/apis/"+group+"/"+version, answer(map[string]any{"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": group + "/" + version,
		"resources": []any{map[string]any{"name": "hostedclusters", "singularName": "hostedcluster", "namespaced": true, "kind": "HostedCluster", "verbs": []string{"get", "list"}}}}))
	mux.HandleFunc("/apis/"+group+"/"+version+"/hostedclusters", answer(list))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// TestHostedClusterIsFound: a user of kubectl names a HostedCluster with the flags, the context and the namespace that kubectl takes.
func TestHostedClusterIsFound(t *testing.T) {
	east := hosting(t, "clusters/blue", "clusters/red", "lab/red", "lab/green")
	west := hosting(t, "west/blue")
	blind := hosting(t)
	kubeconfig := clientcmdapi.NewConfig()
	for name, server := range map[string]string{"east": east, "lab": east, "west": west, "blind": blind} {
		kubeconfig.Clusters[name] = &clientcmdapi.Cluster{Server: server}
		kubeconfig.Contexts[name] = &clientcmdapi.Context{Cluster: name}
	}
	kubeconfig.Contexts["lab"].Namespace = "lab"
	kubeconfig.CurrentContext = "east"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	NewWithT(t).Expect(clientcmd.WriteToFile(*kubeconfig, file)).To(Succeed())
	t.Setenv("KUBECONFIG", file)
	moved := filepath.Join(t.TempDir(), "moved")
	kubeconfig.CurrentContext = "west"
	NewWithT(t).Expect(clientcmd.WriteToFile(*kubeconfig, moved)).To(Succeed())
	empty := filepath.Join(t.TempDir(), "empty")
	NewWithT(t).Expect(clientcmd.WriteToFile(*clientcmdapi.NewConfig(), empty)).To(Succeed())

	for args, want := range map[string]string{
		"clusters/blue":                     "clusters/blue",
		"blue":                              "clusters/blue",
		"blue -n lab":                       "lab/blue", // as kubectl, which then says that it does not exist
		"red":                               "HostedCluster red exists in namespaces clusters, lab. Name one with --namespace",
		"red -n lab":                        "lab/red",
		"red --namespace=clusters":          "clusters/red",
		"red --context lab":                 "lab/red",
		"blue --context lab":                "clusters/blue",
		"none --context lab":                "lab/none",
		"blue --context west":               "west/blue",
		"blue --kubeconfig " + moved:        "west/blue",
		"blue --kubeconfig " + empty:        "there is no kubeconfig. Set --kubeconfig or the environment variable KUBECONFIG",
		"blue --context none":               `kubeconfig: context "none" does not exist`,
		"blue --context blind":              "default/blue",
		"blue --context blind -n clusters":  "clusters/blue",
		"lab/green -n clusters":             "lab/green: --namespace clusters is another namespace",
		"lab/green -n lab":                  "lab/green",
		"-n lab":                            "lab/",
		"":                                  "/",
		"/blue":                             "/blue: want NAME or NAMESPACE/NAME of a HostedCluster",
		"blue --kubeconfig /does/not/exist": "no such file",
	} {
		t.Run(args, func(t *testing.T) {
			g := NewWithT(t)
			var f command.ClusterFlags
			got := ""
			c := &cobra.Command{RunE: func(c *cobra.Command, args []string) error {
				key, err := f.Named(args)
				if err != nil {
					return err
				}
				api, err := f.Open()
				if err != nil {
					return err
				}
				key, err = f.Find(t.Context(), api, key)
				got = key.String()
				return err
			}, SilenceErrors: true, SilenceUsage: true}
			f.Add(c)
			c.SetArgs(strings.Fields(args))
			if err := c.Execute(); err != nil {
				got = err.Error()
			}
			g.Expect(got).To(ContainSubstring(want))
		})
	}
}
