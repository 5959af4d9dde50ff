// This file decides which CertificateSigningRequests (CSRs) of a node are approved, as OpenShift's machine-approver does: those of a
// known VM for its own name and addresses.

package worker

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	certificates "k8s.io/api/certificates/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cldmnky/oooi/test/testbed/await"
)

// bootstrapper is the service account in HyperShift's bootstrap kubeconfig.
const bootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"

// Grants reports whether csr is a request of the node with this name and address, for its client or its serving certificate.
func Grants(csr certificates.CertificateSigningRequest, name string, address netip.Addr) bool {
	block, _ := pem.Decode(csr.Spec.Request)
	if block == nil {
		return false
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return false
	}
	user := "system:node:" + name
	if request.Subject.CommonName != user || !slices.Equal(request.Subject.Organization, []string{"system:nodes"}) {
		return false
	}
	switch csr.Spec.SignerName {
	case certificates.KubeAPIServerClientKubeletSignerName:
		mine := csr.Spec.Username == bootstrapper || csr.Spec.Username == user
		return mine && len(request.DNSNames)+len(request.IPAddresses) == 0
	case certificates.KubeletServingSignerName:
		for _, ip := range request.IPAddresses {
			if a, ok := netip.AddrFromSlice(ip); !ok || a.Unmap() != address {
				return false
			}
		}
		for _, dns := range request.DNSNames {
			if dns != name {
				return false
			}
		}
		return csr.Spec.Username == user
	}
	return false
}

// Admit approves the CSRs of the node until it is Ready, for at most limit. It returns when the node was first seen, and when it
// was Ready. It ignores conditions from before since, which an earlier kubelet of the same name has reported.
func Admit(ctx context.Context, guest kubernetes.Interface, name string, address netip.Addr, since time.Time, limit time.Duration) (seen, ready time.Time, err error) {
	var last error
	state := "it has not registered"
	err = await.Poll(ctx, limit, func() (bool, error) {
		if last = grantAll(ctx, guest, name, address); last != nil {
			return false, nil // The API server may not be reachable yet.
		}
		node, err := guest.CoreV1().Nodes().Get(ctx, name, meta.GetOptions{})
		if err != nil {
			last = err
			return false, nil
		}
		if seen.IsZero() {
			seen = time.Now()
		}
		for _, c := range node.Status.Conditions {
			if c.Type == core.NodeReady && !c.LastHeartbeatTime.Time.Before(since.Truncate(time.Second)) {
				state = c.Reason + ": " + c.Message
				return c.Status == core.ConditionTrue, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return seen, ready, fmt.Errorf("node %s is not Ready in %s: %s; %s (last error: %w)", name, limit, state, requested(ctx, guest), last)
	}
	return seen, time.Now(), nil
}

// requested says in words whether each CSR is approved and signed. The control plane's controller manager signs approved ones.
func requested(ctx context.Context, guest kubernetes.Interface) string {
	list, err := guest.CertificatesV1().CertificateSigningRequests().List(ctx, meta.ListOptions{})
	if err != nil {
		return "its requests are not known: " + err.Error()
	}
	if len(list.Items) == 0 {
		return "it asked for no certificate"
	}
	var all []string
	for _, csr := range list.Items {
		state := "waits for approval"
		switch {
		case len(csr.Status.Certificate) > 0:
			state = "is signed"
		case len(csr.Status.Conditions) > 0:
			state = fmt.Sprintf("is %s and not signed", csr.Status.Conditions[0].Type)
		}
		all = append(all, fmt.Sprintf("%s of %s %s", csr.Name, csr.Spec.Username, state))
	}
	return strings.Join(all, ", ")
}

func grantAll(ctx context.Context, guest kubernetes.Interface, name string, address netip.Addr) error {
	requests := guest.CertificatesV1().CertificateSigningRequests()
	list, err := requests.List(ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	for _, csr := range list.Items {
		if len(csr.Status.Conditions) > 0 || !Grants(csr, name, address) {
			continue
		}
		csr.Status.Conditions = append(csr.Status.Conditions, certificates.CertificateSigningRequestCondition{
			Type: certificates.CertificateApproved, Status: core.ConditionTrue, Reason: "MachineKnown", Message: "asked by the machine itself",
		})
		if _, err := requests.UpdateApproval(ctx, csr.Name, &csr, meta.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}
