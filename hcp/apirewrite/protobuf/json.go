// Package protobuf converts objects of Kubernetes' own kinds from protobuf to JSON, because package apirewrite renames only
// in JSON.
package protobuf

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// A Converter converts objects of the kinds in Kubernetes' stable APIs.
type Converter struct{ scheme *runtime.Scheme }

// New returns a Converter.
func New() (*Converter, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme, autoscalingv1.AddToScheme,
		autoscalingv2.AddToScheme, batchv1.AddToScheme, certificatesv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme,
		eventsv1.AddToScheme, flowcontrolv1.AddToScheme, networkingv1.AddToScheme, nodev1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return &Converter{scheme}, nil
}

// JSON returns the object in body as JSON. It returns an error for an unknown kind, and for an object that would need more
// than heaviest bytes in memory.
func (c *Converter) JSON(body []byte) ([]byte, error) {
	var text runtime.Unknown
	serializer := protobuf.NewSerializer(c.scheme, c.scheme)
	_, kind, err := serializer.Decode(body, nil, &text)
	if err == nil {
		err = c.weigh(*kind, text.Raw)
	}
	if err != nil {
		return nil, fmt.Errorf("converting an object from protobuf: %w", err)
	}
	object, _, err := serializer.Decode(body, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("converting an object from protobuf: %w", err)
	}
	object.GetObjectKind().SetGroupVersionKind(*kind)
	var out strings.Builder
	if err := json.NewSerializerWithOptions(json.DefaultMetaFactory, c.scheme, c.scheme, json.SerializerOptions{}).Encode(object, &out); err != nil {
		return nil, fmt.Errorf("converting %s from protobuf: %w", kind.Kind, err)
	}
	return []byte(out.String()), nil
}
