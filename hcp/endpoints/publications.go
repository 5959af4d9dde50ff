// This file decides which further Services of the control plane namespace VMs can reach: those with the annotation
// publish that are not copies from the hosted cluster. Package derive resolves conflicts of names and ports.

package endpoints

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// maxPublications limits the published names and ports of all Services of one cluster.
const maxPublications = 256

// publications returns the endpoints of Services with the annotation publish. If there are too many, older Services have
// precedence.
func publications(o objects.Objects) Reachable {
	var r Reachable
	var left []string
	first := 0
	oldest := func(a, b corev1.Service) int { return objects.CompareAge(&a, &b) }
	for _, svc := range slices.SortedFunc(slices.Values(o.Services), oldest) {
		if _, copied := svc.Labels[settings.LabelHostedService]; copied {
			if _, publishes := svc.Annotations[settings.Prefix+network.KeyPublish]; publishes {
				r.Problems = append(r.Problems, problem.New(problem.PublishedByHostedCluster, onService(svc.Name),
					problem.Args{"service": {svc.Name}, "hostedService": {svc.Labels[services.HostedNamespaceLabel] + "/" + svc.Labels[settings.LabelHostedService]}}))
			}
			continue
		}
		if svc.Labels[wire.LabelManagedBy] == wire.Owner && svc.Labels[wire.LabelPartOf] == wire.Owner {
			continue // A Service of oooi. The user does not set its annotations.
		}
		asked, problems := settings.Overlay(settings.Values{}, settings.OnService, svc.Name, svc.Annotations)
		for _, p := range problems {
			if p.Blocks() {
				// Only this Service has the problem. Its endpoints keep their last known good state.
				p.Severity = problem.SeverityWarning
				r.Waiting = append(r.Waiting, svc.Name+"/")
			}
			r.Problems = append(r.Problems, p)
		}
		at := asked.Publish
		if first+len(at) > maxPublications {
			at = at[:maxPublications-first]
			left = append(left, svc.Name)
		}
		first += len(at)
		for _, h := range at {
			r.add(publication(svc, h))
		}
	}
	if len(left) > 0 {
		r.Problems = append(r.Problems, problem.New(problem.TooManyPublished, onService(left[0]), problem.Args{
			"service": {left[0]}, "count": {strconv.Itoa(len(left) - 1)}, "most": {strconv.Itoa(maxPublications)}}, network.KeyPublish))
	}
	return r
}

// publication returns the endpoint of svc at one name and port. On ports other than 443, clients might not use TLS,
// so the endpoint matches all connections there.
func publication(svc corev1.Service, h settings.HostPort) (network.Endpoint, *problem.Problem) {
	e := network.Endpoint{
		Name:   svc.Name + "/" + h.String(),
		Origin: network.OriginService,
		Hosts:  []string{h.Host},
		Port:   h.Port,
		Match:  network.MatchAny,
	}
	args := problem.Args{"service": {svc.Name}, "at": {h.String()}}
	if h.Port == 443 {
		e.Match = network.MatchServerName
	}
	if strings.HasPrefix(svc.Name, services.PassthroughService) {
		return e, newProblem(problem.PublishedIsIngress, onService(svc.Name), args, network.KeyPublish)
	}
	port, ok := tcpPort(svc, h.Port)
	if !ok {
		return e, newProblem(problem.PublishedHasNoPort, onService(svc.Name), args, network.KeyPublish)
	}
	e.Backend = services.BackendAt(svc, port)
	return e, nil
}

func onService(name string) problem.Subject { return problem.Subject{Kind: "Service", Name: name} }

// tcpPort returns the TCP port of svc with this number, else the first TCP port of svc. ok is false without a TCP port,
// and for type ExternalName.
func tcpPort(svc corev1.Service, number uint16) (port corev1.ServicePort, ok bool) {
	tcp := slices.DeleteFunc(slices.Clone(svc.Spec.Ports), func(p corev1.ServicePort) bool {
		return p.Protocol != corev1.ProtocolTCP && p.Protocol != ""
	})
	if len(tcp) == 0 || svc.Spec.Type == corev1.ServiceTypeExternalName {
		return corev1.ServicePort{}, false
	}
	i := slices.IndexFunc(tcp, func(p corev1.ServicePort) bool { return p.Port == int32(number) })
	return tcp[max(i, 0)], true
}
