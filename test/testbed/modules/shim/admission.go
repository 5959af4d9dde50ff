// What OpenShift's admission adds to pods of hosted control planes and to Routes, as pure functions over their JSON. It decides which
// components run and which become a placeholder; it never sees pods labelled part of oooi (the webhook's selector leaves them out).
package main

import "slices"

type object = map[string]any

// placeholder is the label that says which component a pod stands for without running it.
const placeholder = "testbed.oooi/placeholder-for"

// admitPod is pod as the testbed runs it: a component that is not in keep becomes one pause container (what its Deployment says stays);
// the security context is filled in as SCC restricted-v2 would; requests are small enough for several control planes on one machine;
// readiness and startup probes ask the same, only sooner and oftener.
func admitPod(pod object, keep []string) object {
	meta, spec := at(pod, "metadata"), at(pod, "spec")
	if name := component(meta); name != "" && !slices.Contains(keep, name) {
		spec["containers"] = []any{object{"name": "pause", "image": "localhost/pause:1", "imagePullPolicy": "Never"}}
		delete(spec, "initContainers")
		delete(spec, "volumes")
		at(meta, "annotations")[placeholder] = name
	}
	sc := at(spec, "securityContext")
	sc["runAsNonRoot"], sc["seccompProfile"] = true, object{"type": "RuntimeDefault"}
	if _, named := sc["fsGroup"]; !named {
		sc["fsGroup"] = 1001
	}
	for _, kind := range []string{"initContainers", "containers"} {
		list, _ := spec[kind].([]any)
		for _, c := range list {
			if c, ok := c.(object); ok {
				admitContainer(c)
			}
		}
	}
	return pod
}

func admitContainer(c object) {
	c["resources"] = object{"requests": object{"cpu": "1m", "memory": "10Mi"}}
	sc := at(c, "securityContext")
	sc["allowPrivilegeEscalation"], sc["runAsNonRoot"], sc["capabilities"] = false, true, object{"drop": []any{"ALL"}}
	for _, name := range []string{"readinessProbe", "startupProbe"} {
		if p, ok := c[name].(object); ok {
			hasten(p)
		}
	}
}

// hasten makes a probe run each second from the start, and fail after the same time as before.
func hasten(probe object) {
	delay, period, failures := number(probe["initialDelaySeconds"], 0), number(probe["periodSeconds"], 10), number(probe["failureThreshold"], 3)
	probe["initialDelaySeconds"], probe["periodSeconds"], probe["failureThreshold"] = 0, 1, delay+period*failures
}

func number(v any, otherwise float64) float64 {
	if f, ok := v.(float64); ok && f > 0 {
		return f
	}
	return otherwise
}

// component is the name of the control plane component a pod belongs to, "" where nothing says so: such a pod runs as it is.
func component(meta object) string {
	labels := at(meta, "labels")
	for _, key := range []string{"hypershift.openshift.io/control-plane-component", "app", "name", "job-name"} {
		if v, ok := labels[key].(string); ok {
			return v
		}
	}
	return ""
}

// admitRoute is route as OpenShift's API server stores it: HyperShift reads the host right after it created a Route, so it must be there
// at once, and the router's later admission is not enough.
func admitRoute(route object, namespace, domain string) object {
	meta, spec := at(route, "metadata"), at(route, "spec")
	if host, _ := spec["host"].(string); host == "" {
		if ns, _ := meta["namespace"].(string); ns != "" {
			namespace = ns
		}
		name, _ := meta["name"].(string)
		spec["host"] = name + "-" + namespace + "." + domain
	}
	if _, named := spec["wildcardPolicy"]; !named {
		spec["wildcardPolicy"] = "None"
	}
	if to := at(spec, "to"); to["weight"] == nil {
		to["weight"] = 100
	}
	return route
}

// at is m's object under key, made where there is none.
func at(m object, key string) object {
	if o, ok := m[key].(object); ok {
		return o
	}
	o := object{}
	m[key] = o
	return o
}
