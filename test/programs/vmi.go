// This file holds a CustomResourceDefinition that stands for KubeVirt's.

package programs

// VMIDefinition stands for the definition of VirtualMachineInstances that KubeVirt's operator makes at run time. It has
// the same names and accepts any content.
const VMIDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: virtualmachineinstances.kubevirt.io}
spec:
  group: kubevirt.io
  scope: Namespaced
  names: {plural: virtualmachineinstances, kind: VirtualMachineInstance}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
