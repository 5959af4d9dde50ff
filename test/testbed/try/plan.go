// This file gets a plan for files from `oooi plan`, as a user does.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/testbed/host"
)

// story is the story in test/scenarios that is used without an argument. Its plan lacks nothing, and its API server has a name.
const story = "apps-host-network"

// An input contains the objects for `oooi plan`.
type input struct {
	named []string // as the user named them
	flags []string // of `oooi plan`
	stdin []byte
}

// read returns the input for objects. Each is a file or a directory, relative to the root of the project, or the name of a story.
func read(objects []string) (in input, err error) {
	root, err := host.ProjectDir()
	if err != nil {
		return in, err
	}
	stories, err := golden.All(root)
	if err != nil {
		return in, err
	}
	in.named = objects
	if len(objects) == 0 {
		in.named = []string{story}
	}
	for _, name := range in.named {
		i := slices.IndexFunc(stories, func(s golden.Story) bool { return s.Name == name })
		if i < 0 {
			path := name
			if !filepath.IsAbs(path) {
				path = filepath.Join(root, path)
			}
			in.flags = append(in.flags, "-f", path)
			continue
		}
		text, err := stories[i].Whole("objects.yaml")
		if err != nil {
			return in, err
		}
		in.stdin = append(append(in.stdin, "\n---\n"...), text...)
	}
	if in.stdin != nil {
		in.flags = append(in.flags, "-f", "-")
	}
	return in, nil
}

// command returns the shell command that prints the plan, in the root of the project.
func (in input) command() string {
	if in.stdin != nil {
		return "go run ./test/show " + strings.Join(in.named, " ") + " | bin/oooi plan -f -"
	}
	return "bin/oooi plan " + strings.Join(in.named, " ")
}

// A planned is the output of `oooi plan` for one hosted cluster.
type planned struct {
	// Plan is nil if there is an Error. It has only one network: the one from which VMs boot, else the first.
	Plan *network.Plan
	// headline is the first line of the text, and its continuation lines.
	headline string
	code     int
}

// plan runs the program oooi. It adds the annotation network to a hosted cluster without it.
func (in input) plan(ctx context.Context, oooi string, errs io.Writer) (p planned, err error) {
	text, code, err := in.run(ctx, oooi, errs)
	if err != nil {
		return p, err
	}
	lines, _, err := in.run(ctx, oooi, io.Discard, "-o", "json")
	if err != nil {
		return p, err
	}
	var all []planned
	for d := json.NewDecoder(bytes.NewReader(lines)); d.More(); {
		var one planned
		if err := d.Decode(&one); err != nil {
			return p, fmt.Errorf("oooi plan -o json: %w", err)
		}
		all = append(all, one)
	}
	if len(all) != 1 {
		return p, fmt.Errorf("there are %d HostedClusters, and one is served: name the files of one", len(all))
	}
	p = all[0]
	p.code = code
	p.headline, _, _ = strings.Cut(string(text), "\n\n")
	if p.Plan == nil {
		return p, nil
	}
	if len(p.Plan.Networks) == 0 {
		return p, errors.New("the plan has no network")
	}
	n := p.Plan.Networks[max(0, slices.IndexFunc(p.Plan.Networks, func(n network.Network) bool { return n.Primary }))]
	if !slices.Contains(n.Services, network.ServiceDHCP) {
		return p, fmt.Errorf("network %s has its own DHCP server, so no VM gets an address here", n.Attachment)
	}
	n.DHCP.IgnoreUnknownClients = false // Without a cluster, no VM is known.
	p.Plan.Networks = []network.Network{n}
	return p, nil
}

// run returns the output of `oooi plan`, and its exit code. It returns an error if oooi could not make a plan. The reason is in errs.
func (in input) run(ctx context.Context, oooi string, errs io.Writer, more ...string) (out []byte, code int, err error) {
	c := exec.CommandContext(ctx, oooi, slices.Concat([]string{"plan", "--set", "network=auto"}, in.flags, more)...)
	c.Env = append(os.Environ(), "COLUMNS=80")
	c.Stdin, c.Stderr = bytes.NewReader(in.stdin), errs
	out, err = c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > exitNoAnswer {
		return out, exit.ExitCode(), nil
	}
	if err != nil {
		return nil, exitNoAnswer, fmt.Errorf("oooi plan: %w", err)
	}
	return out, 0, nil
}
