// The admission webhook's server: AdmissionReview in, JSON patch out. What is changed is admission.go's to decide.
package main

import (
	"encoding/json"
	"flag"
	"net/http"
	"strings"
	"time"
)

// admissionReview is what is used of admission.k8s.io/v1 AdmissionReview.
type admissionReview struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

type request struct {
	UID       string `json:"uid"`
	Namespace string `json:"namespace"`
	Object    object `json:"object"`
}

type response struct {
	UID       string `json:"uid"`
	Allowed   bool   `json:"allowed"`
	PatchType string `json:"patchType"`
	Patch     []byte `json:"patch"`
}

func webhook(args []string) error {
	f := flag.NewFlagSet("pod-webhook", flag.ContinueOnError)
	listen := f.String("listen", ":8443", "address and port")
	cert, key := f.String("tls-cert-file", "", ""), f.String("tls-private-key-file", "", "")
	keep := f.String("keep", "", "components that really run, with commas; each other one becomes a placeholder")
	mini := f.String("keep-mini", "", "the same, for pods that come by the path /mini")
	domain := f.String("ingress-domain", "", "domain of Routes that name no host")
	if err := f.Parse(args); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/pods", review(func(o object, _ string) object { return admitPod(o, strings.Split(*keep, ",")) }))
	mux.HandleFunc("/mini", review(func(o object, _ string) object { return admitPod(o, strings.Split(*mini, ",")) }))
	mux.HandleFunc("/routes", review(func(o object, namespace string) object { return admitRoute(o, namespace, *domain) }))
	s := &http.Server{Addr: *listen, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return s.ListenAndServeTLS(*cert, *key)
}

// review serves AdmissionReviews: always allowed, the object's metadata and spec replaced by what admit makes from them. Admit is given the
// object and the request's namespace.
func review(admit func(o object, namespace string) object) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in admissionReview
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Request == nil {
			http.Error(w, "not an AdmissionReview", http.StatusBadRequest)
			return
		}
		o := admit(in.Request.Object, in.Request.Namespace)
		patch, err := json.Marshal([]object{
			{"op": "replace", "path": "/metadata", "value": o["metadata"]},
			{"op": "replace", "path": "/spec", "value": o["spec"]},
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(admissionReview{
			APIVersion: in.APIVersion, Kind: in.Kind,
			Response: &response{UID: in.Request.UID, Allowed: true, PatchType: "JSONPatch", Patch: patch},
		})
	}
}
