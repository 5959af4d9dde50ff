// This file writes the commands that create the Service for *.apps.

package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/network/problem"
)

// writeAppsService writes shell commands that create p.AppsService. They first read the node ports, which are variables in
// it. The commands are not wrapped.
func (p Planned) writeAppsService(w io.Writer) error {
	var about, script strings.Builder
	fmt.Fprintln(&about, "\nService for *.apps")
	if !p.preview.Created {
		fmt.Fprintln(&about, "  A cluster without a base domain does not need it.")
	}
	if slices.ContainsFunc(p.Problems, func(x problem.Problem) bool { return x.Cause == problem.IngressAddressUnknown }) {
		fmt.Fprintln(&about, "  If other DNS servers resolve *.apps to an address that VMs reach, it is not necessary.")
	}
	cluster := p.objects.HostedCluster.Name
	for _, port := range p.AppsService.Spec.Ports {
		if port.TargetPort.Type == intstr.String {
			fmt.Fprintf(&script, "%s=$(kubectl get service router-nodeport-default -n openshift-ingress \\\n  --kubeconfig %s.kubeconfig \\\n"+
				"  -o jsonpath='{.spec.ports[?(@.name==\"%s\")].nodePort}') &&\n", strings.TrimPrefix(port.TargetPort.StrVal, "$"), cluster, *port.Name)
		}
	}
	if script.Len() > 0 {
		fmt.Fprintf(&about, "  Run this when the hosted cluster has nodes. %s.kubeconfig is its kubeconfig.\n", cluster)
	}
	text, err := yaml.Marshal(p.AppsService)
	if err != nil {
		return err
	}
	fmt.Fprintf(&script, "kubectl apply -f - <<EOF\n%sEOF\n", text)
	if err := command.WriteText(w, about.String()); err != nil {
		return err
	}
	_, err = io.WriteString(w, script.String())
	return err
}
