// This file makes one random change to a world.

package worlds

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cldmnky/oooi/hcp/settings"
)

// change changes one object of w, or adds, repeats or removes one.
func (w *World) change(r *rand.Rand) {
	i := r.IntN(len(w.objects))
	o := w.objects[i]
	say := func(format string, args ...any) {
		w.Changes = append(w.Changes, name(o)+": "+fmt.Sprintf(format, args...))
	}
	switch n := r.IntN(20); {
	case n < 8:
		key, value := annotation(r, w.names("NodePool"))
		setAnnotation(w.annotatable(r), key, value)
		w.Changes = append(w.Changes, fmt.Sprintf("annotation %s=%q", key, value))
	case n < 15:
		if p := pick(r, paths(o, "")); p.key != "" {
			say("%s", p.change(r, w))
		}
	case n < 16 && len(w.objects) > 1 && kind(o) != "HostedCluster":
		w.objects = append(w.objects[:i], w.objects[i+1:]...)
		say("removed")
	case n < 18:
		other := copied(o).(object)
		metadata(other)["name"] = fmt.Sprint(metadata(o)["name"], "-", r.IntN(3))
		delete(metadata(other), "uid")
		w.objects = append(w.objects, other)
		say("repeated as %s", metadata(other)["name"])
	default:
		age(r, metadata(o))
		say("created %v", metadata(o)["creationTimestamp"])
	}
}

// age sets or removes the time at which an object was created.
func age(r *rand.Rand, metadata map[string]any) {
	if r.IntN(3) == 0 {
		delete(metadata, "creationTimestamp")
		return
	}
	metadata["creationTimestamp"] = time.Date(2026, 1, 1+r.IntN(3), 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
}

// annotatable returns the metadata of an object that can have annotations of oooi.
func (w *World) annotatable(r *rand.Rand) object {
	var all []object
	for _, o := range w.objects {
		switch settings.Place(kind(o)) {
		case settings.OnHostedCluster: // more often, as users do
			all = append(all, o, o, o)
		case settings.OnNodePool, settings.OnNetworkAttachmentDefinition, settings.OnService:
			all = append(all, o)
		}
	}
	return all[r.IntN(len(all))]
}

func setAnnotation(o object, key, value string) {
	m := metadata(o)
	annotations, ok := m["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		m["annotations"] = annotations
	}
	annotations[key] = value
}

// annotation returns a valid, an almost valid or an arbitrary annotation, with a known or a misspelled key.
func annotation(r *rand.Rand, pools []string) (key, value string) {
	keys := settings.Keys()
	k := keys[r.IntN(len(keys))]
	key, value = k.Name, k.Example
	if k.PerNodePool && len(pools) > 0 && r.IntN(3) == 0 {
		key += "." + pools[r.IntN(len(pools))]
	}
	switch r.IntN(5) {
	case 0:
		value = oddValue(r)
	case 1:
		value = bent(r, value)
	case 2:
		value = keys[r.IntN(len(keys))].Example
	}
	if r.IntN(10) == 0 {
		key = bent(r, key)
	}
	return settings.Prefix + key, value
}

// oddValue returns a value that is valid for no annotation or field, or for many.
func oddValue(r *rand.Rand) string {
	all := [...]string{"", " ", ",", "=", "none", "auto", "true", "0", "-1", "1h", "99999999h", "0.0.0.0/0", "10.0.0.0/8", "192.168.100.0/29", "192.168.100.0/32",
		"192.168.100.0/24", "192.168.100.0/30", "172.20.0.1", "172.20.0.0/24", "169.254.1.0/24", "127.0.0.1", "198.51.100.7", "10.130.0.0/16",
		"255.255.255.255", "0.0.0.0", "224.0.0.1", "::1", "fd00::/64", "fd00::7", "192.168.100.255", "192.168.100.1", "192.168.100.3", "192.168.100.9-192.168.100.1",
		"192.168.100.2,192.168.100.3,192.168.100.4,192.168.100.5,192.168.100.6", "192.168.100.20-192.168.100.30", "0.0.0.0-255.255.255.255",
		"02:00:00:00:00:01=192.168.100.3", "a.example.com:443", "registry.example.com:53", "*.example.com=192.168.100.9", "*:0", "dhcp", "ntp", "dhcp,dns,proxy", "dns,dns", "192.168.100.1:53", "8.8.8.8",
		"clusters/vlan100", "clusters/none", "1", "2", "3", "a=b,a=b", "a=b,c=", "10.9.0.0/16,10.96.0.0/12", "10.240.0.0/24", "192.168.0.0/16,198.51.100.0/24", "nodes:10250,22=nodes:22,3128=nodes:1", "apps:80,192.168.100.3:53,192.168.100.20:22,192.168.100.255:1,a.example.com:5432", "clusters/default", "\x00", "ü.example.com", "api.blue.example.com"}
	return all[r.IntN(len(all))]
}

// bent returns s with one byte removed, doubled or replaced.
func bent(r *rand.Rand, s string) string {
	if s == "" {
		return "x"
	}
	i := r.IntN(len(s))
	switch r.IntN(3) {
	case 0:
		return s[:i] + s[i+1:]
	case 1:
		return s[:i] + s[i:i+1] + s[i:]
	}
	return s[:i] + string(rune('0'+r.IntN(64))) + s[i+1:]
}

// names returns the names of the objects of a kind.
func (w *World) names(of string) []string {
	var out []string
	for _, o := range w.objects {
		if n, ok := metadata(o)["name"].(string); ok && kind(o) == of {
			out = append(out, n)
		}
	}
	return out
}

func kind(o object) string {
	k, _ := o["kind"].(string)
	return k
}

// metadata returns the metadata of o, which it adds if it is missing.
func metadata(o object) map[string]any {
	m, ok := o["metadata"].(map[string]any)
	if !ok {
		m = map[string]any{}
		o["metadata"] = m
	}
	return m
}

func name(o object) string { return strings.TrimSpace(kind(o) + " " + fmt.Sprint(metadata(o)["name"])) }
