// The admission webhook's server: AdmissionReview in, JSON patch out. What is changed is admission.go's to decide.
package main

import (
	"encoding/json"
	"flag"
	"net/http"
	"strings"
	"time"
)

// review is what is used of admission.k8s.io/v1 AdmissionReview.
type review struct {
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
	domain := f.String("ingress-domain", "", "domain of Routes that name no host")
	if err := f.Parse(args); err != nil {
		return err
	}
	kept := strings.Split(*keep, ",")
	handler := func(w http.ResponseWriter, r *http.Request) {
		var in review
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Request == nil {
			http.Error(w, "not an AdmissionReview", http.StatusBadRequest)
			return
		}
		out, err := decide(in, kept, *domain)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
	}
	s := &http.Server{Addr: *listen, Handler: http.HandlerFunc(handler), ReadHeaderTimeout: 10 * time.Second}
	return s.ListenAndServeTLS(*cert, *key)
}

// decide answers one review: always allowed, spec and metadata replaced whole.
func decide(in review, keep []string, domain string) (review, error) {
	o := in.Request.Object
	if o["kind"] == "Route" {
		o = admitRoute(o, in.Request.Namespace, domain)
	} else {
		o = admitPod(o, keep)
	}
	patch, err := json.Marshal([]object{
		{"op": "replace", "path": "/metadata", "value": o["metadata"]},
		{"op": "replace", "path": "/spec", "value": o["spec"]},
	})
	return review{
		APIVersion: in.APIVersion, Kind: in.Kind,
		Response: &response{UID: in.Request.UID, Allowed: true, PatchType: "JSONPatch", Patch: patch},
	}, err
}
