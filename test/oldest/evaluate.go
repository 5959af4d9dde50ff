// Package oldest evaluates the admission policies of oooi as the oldest Kubernetes does that oooi
// runs on, 1.31: with its CEL environment, its functions and its budgets.
package oldest

import (
	"context"
	"fmt"
	"math"

	"github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	plugin "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// An expression is one expression of a policy, with its name and the type of its result.
type expression struct {
	name, text string
	result     *cel.Type
}

func (e expression) GetExpression() string    { return e.text }
func (e expression) ReturnTypes() []*cel.Type { return []*cel.Type{e.result} }
func (e expression) GetName() string          { return e.name }

// A Policy is a compiled ValidatingAdmissionPolicy.
type Policy struct {
	conditions, validations, messages plugin.Filter
}

// Compile compiles p as an API server does that stores it. strict selects the costs of Kubernetes'
// own functions that are the default from 1.32 on.
func Compile(p *admissionregistrationv1.ValidatingAdmissionPolicy, strict bool) (*Policy, error) {
	env, err := plugin.NewCompositionEnv(plugin.VariablesTypeName, environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion(), strict))
	if err != nil {
		return nil, err
	}
	compiler := plugin.NewCompositedCompilerFromTemplate(env)
	options := plugin.OptionalVariableDeclarations{HasAuthorizer: false, StrictCost: strict}
	var conditions, validations, messages []plugin.ExpressionAccessor
	for _, c := range p.Spec.MatchConditions {
		conditions = append(conditions, expression{c.Name, c.Expression, cel.BoolType})
	}
	out := &Policy{conditions: compiler.FilterCompiler.Compile(conditions, options, environment.NewExpressions)}
	for _, v := range p.Spec.Variables {
		result := compiler.CompileAndStoreVariable(expression{v.Name, v.Expression, cel.AnyType}, options, environment.NewExpressions)
		if result.Error != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Name, result.Error)
		}
	}
	for _, v := range p.Spec.Validations {
		validations = append(validations, expression{"", v.Expression, cel.BoolType})
		text := v.MessageExpression
		if text == "" {
			text = fmt.Sprintf("%q", v.Message)
		}
		messages = append(messages, expression{"", text, cel.StringType})
	}
	out.validations = compiler.Compile(validations, options, environment.NewExpressions)
	out.messages = compiler.Compile(messages, options, environment.NewExpressions)
	for _, f := range []plugin.Filter{out.conditions, out.validations, out.messages} {
		for _, err := range f.CompilationErrors() {
			return nil, err
		}
	}
	return out, nil
}

// A Verdict is what a policy says about one write.
type Verdict struct {
	// Messages are those of the violated validations.
	Messages []string
	// Errors are those of expressions without a result.
	Errors []error
	// ConditionsCost, Cost and MessagesCost are what the parts of the policy took of their budgets.
	ConditionsCost, Cost, MessagesCost int64
}

// A Write creates an object or updates it.
type Write struct {
	// User is the name of the account.
	User string
	// Pod is the name of the pod that the account's token was made for. Empty: the token is not one of a pod.
	Pod string
	// Resource is the plural of the object's kind. Only policy oooi-operator reads it.
	Resource string
	Object   *unstructured.Unstructured
	// Old is the object before an update. Nil: the object is created.
	Old       *unstructured.Unstructured
	Namespace *corev1.Namespace
}

// Judge evaluates p for w.
func (p *Policy) Judge(w Write) (Verdict, error) {
	u, ns, gvk := w.Object, w.Namespace, w.Object.GroupVersionKind()
	resource := gvk.GroupVersion().WithResource(w.Resource)
	request := &admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind(gvk), Resource: metav1.GroupVersionResource(resource), Name: u.GetName(), Namespace: u.GetNamespace(),
		Operation: admissionv1.Create, UserInfo: authenticationv1.UserInfo{Username: w.User},
	}
	operation, old := admission.Create, runtime.Object(nil)
	if w.Pod != "" {
		request.UserInfo.Extra = map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/pod-name": {w.Pod}}
	}
	if w.Old != nil {
		request.Operation, operation, old = admissionv1.Update, admission.Update, w.Old
	}
	attributes := &admission.VersionedAttributes{
		Attributes:    admission.NewAttributesRecord(u, old, gvk, u.GetNamespace(), u.GetName(), resource, "", operation, &metav1.CreateOptions{}, false, nil),
		VersionedKind: gvk, VersionedObject: runtime.Object(u), VersionedOldObject: old,
	}
	var out Verdict
	evaluate := func(f plugin.Filter, cost *int64) ([]plugin.EvaluationResult, error) {
		results, left, err := f.ForInput(context.Background(), attributes, request, plugin.OptionalVariableBindings{}, ns, math.MaxInt64)
		*cost = math.MaxInt64 - left
		return results, err
	}
	conditions, err := evaluate(p.conditions, &out.ConditionsCost)
	if err != nil {
		return out, err
	}
	for _, r := range conditions {
		if r.Error != nil {
			return out, r.Error
		}
		if r.EvalResult.Value() != true {
			return out, nil
		}
	}
	validations, err := evaluate(p.validations, &out.Cost)
	if err != nil {
		return out, err
	}
	messages, err := evaluate(p.messages, &out.MessagesCost)
	if err != nil {
		return out, err
	}
	for i, r := range validations {
		switch {
		case r.Error != nil:
			out.Errors = append(out.Errors, r.Error)
		case r.EvalResult.Value() == true:
		case messages[i].Error != nil:
			out.Errors = append(out.Errors, messages[i].Error)
		default:
			out.Messages = append(out.Messages, fmt.Sprint(messages[i].EvalResult.Value()))
		}
	}
	return out, nil
}
