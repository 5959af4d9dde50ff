// This file reads CNI configurations: the plugins, and their VLAN and MTU.

package nad

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parse reads a list of plugins or a single plugin. plugins is not empty unless err is set. conf is the whole
// configuration.
func parse(config string) (plugins []map[string]any, conf map[string]any, err error) {
	if err := json.Unmarshal([]byte(config), &conf); err != nil {
		return nil, nil, err
	}
	list, isList := conf["plugins"].([]any)
	if !isList {
		if conf["type"] == nil {
			return nil, nil, fmt.Errorf("no plugin type is set")
		}
		return []map[string]any{conf}, conf, nil
	}
	for _, p := range list {
		m, ok := p.(map[string]any)
		if !ok {
			return nil, nil, fmt.Errorf("an entry of plugins is not an object")
		}
		plugins = append(plugins, m)
	}
	if len(plugins) == 0 {
		return nil, nil, fmt.Errorf("plugins is empty")
	}
	return plugins, conf, nil
}

// vlan returns the 802.1Q ID, or 0. The key is "vlan" for bridges and SR-IOV, and "vlanID" for OVN. For macvlan it is the
// suffix of "master".
func vlan(first map[string]any) int {
	switch text(first["type"]) {
	case typeOVN:
		return number(valueOf(first, "vlanID"))
	case typeMacvlan:
		_, suffix, _ := strings.Cut(text(valueOf(first, "master")), ".")
		if n, err := strconv.Atoi(suffix); err == nil && n > 0 && n < 4095 {
			return n
		}
		return 0
	}
	return number(valueOf(first, "vlan"))
}

// mtu returns the MTU in bytes, or 0 if no plugin sets it. The last plugin that sets it counts, because the tuning
// plugin follows the main one.
func mtu(plugins []map[string]any) int {
	for _, p := range slices.Backward(plugins) {
		if n := number(valueOf(p, "mtu")); n != 0 {
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
