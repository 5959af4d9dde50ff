// This file decides what further Services of the control plane namespace
// machines reach: those on which the user says so. Who has a name or a port that
// somebody else wants too is decided in network.

package hcp

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// mostPublications is how many places all Services of one cluster have together.
const mostPublications = 256

// publications are the Services that carry the annotation publish. Where they
// are too many the oldest Services have theirs, so that a new one takes nobody's.
func publications(o Objects) reachable {
	var r reachable
	var left []string
	first := 0
	oldest := func(a, b corev1.Service) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	}
	for _, svc := range slices.SortedFunc(slices.Values(o.Services), oldest) {
		asked, problems := settings.Overlay(settings.Values{}, settings.OnService, svc.Name, svc.Annotations)
		for _, p := range problems {
			if p.Blocks() {
				// It is about this Service alone, whose last places stay meanwhile.
				p.Severity = network.SeverityWarning
				r.waiting = append(r.waiting, svc.Name+"/")
			}
			r.problems = append(r.problems, p)
		}
		at := asked.Publish
		if first+len(at) > mostPublications {
			at = at[:mostPublications-first]
			left = append(left, svc.Name)
		}
		first += len(at)
		for _, h := range at {
			r.add(publication(svc, h))
		}
	}
	if len(left) > 0 {
		r.problems = append(r.problems, network.NewProblem(network.TooManyPublished, onService(left[0]), network.Args{
			"service": left[0], "count": strconv.Itoa(len(left) - 1), "most": strconv.Itoa(mostPublications)}, settings.KeyPublish))
	}
	return r
}

// HasManualEndpoints says whether somebody else than Kubernetes writes who is behind svc, and
// it is not the hosted cluster's own ingress, whose machines are reached by the
// network itself.
func HasManualEndpoints(svc corev1.Service) bool {
	return len(svc.Spec.Selector) == 0 && svc.Spec.Type != corev1.ServiceTypeExternalName && !strings.HasPrefix(svc.Name, passthroughService)
}

// publication is svc at one name and port. Clients of other ports than 443 may
// speak no TLS at all, so every connection there is meant for it.
func publication(svc corev1.Service, h settings.HostPort) (network.Endpoint, *network.Problem) {
	e := network.Endpoint{
		Name:   fmt.Sprintf("%s/%s:%d", svc.Name, h.Host, h.Port),
		Origin: network.OriginService,
		Hosts:  []string{h.Host},
		Port:   h.Port,
		Match:  network.MatchAny,
	}
	args := network.Args{"service": svc.Name, "at": fmt.Sprintf("%s:%d", h.Host, h.Port)}
	if h.Port == 443 {
		e.Match = network.MatchServerName
	}
	if strings.HasPrefix(svc.Name, passthroughService) {
		return e, problem(network.PublishedIsIngress, onService(svc.Name), args, settings.KeyPublish)
	}
	port, ok := answering(svc, h.Port)
	if !ok {
		return e, problem(network.PublishedHasNoPort, onService(svc.Name), args, settings.KeyPublish)
	}
	e.Backend = backendAt(svc, port)
	return e, nil
}

// onService is the subject of problems about a Service of the control plane.
func onService(name string) network.Subject { return network.Subject{Kind: "Service", Name: name} }

// answering is svc's port of that number, else its first.
func answering(svc corev1.Service, number uint16) (corev1.ServicePort, bool) {
	tcp := slices.DeleteFunc(slices.Clone(svc.Spec.Ports), func(p corev1.ServicePort) bool {
		return p.Protocol != corev1.ProtocolTCP && p.Protocol != ""
	})
	if len(tcp) == 0 || svc.Spec.Type == corev1.ServiceTypeExternalName {
		return corev1.ServicePort{}, false
	}
	i := slices.IndexFunc(tcp, func(p corev1.ServicePort) bool { return p.Port == int32(number) })
	return tcp[max(i, 0)], true
}
