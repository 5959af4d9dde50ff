// This file reads CNI configurations: their plugins, and the VLAN and MTU that
// these set.

package nad

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parse reads a CNI configuration: a list of plugins, or one plugin alone.
func parse(config string) (plugins []map[string]any, conf map[string]any, err error) {
	if err := json.Unmarshal([]byte(config), &conf); err != nil {
		return nil, nil, err
	}
	list, isList := conf["plugins"].([]any)
	if !isList {
		if conf["type"] == nil {
			return nil, nil, fmt.Errorf("it names no plugin type")
		}
		return []map[string]any{conf}, conf, nil
	}
	for _, p := range list {
		m, ok := p.(map[string]any)
		if !ok {
			return nil, nil, fmt.Errorf("plugins holds something that is not an object")
		}
		plugins = append(plugins, m)
	}
	if len(plugins) == 0 {
		return nil, nil, fmt.Errorf("plugins is empty")
	}
	return plugins, conf, nil
}

// vlan is the 802.1Q id where a plugin says it: "vlan" for bridges and SR-IOV,
// "vlanID" for OVN, the suffix of "master" for macvlan.
func vlan(plugins []map[string]any) int {
	for _, p := range plugins {
		for _, key := range []string{"vlan", "vlanID"} {
			if n := number(p[key]); n != 0 {
				return n
			}
		}
	}
	if _, suffix, ok := strings.Cut(text(plugins[0]["master"]), "."); ok {
		if n, err := strconv.Atoi(suffix); err == nil && n > 0 && n < 4095 {
			return n
		}
	}
	return 0
}

// mtu is in bytes; a later plugin (tuning) changes what an earlier one set.
func mtu(plugins []map[string]any) int {
	for _, p := range slices.Backward(plugins) {
		if n := number(p["mtu"]); n != 0 {
			return n
		}
	}
	return 0
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func number(v any) int {
	f, _ := v.(float64)
	return int(f)
}
