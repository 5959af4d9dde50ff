// bridgevlan stands in front of the CNI bridge plugin where the kernel's bridges do
// not know VLANs. It makes the host's end of a pod's veth an 802.1Q access port by
// two eBPF programs; everything else the plugin beside it, bridge.real, does. Where
// the kernel's bridges filter VLANs it is not used at all.
//
// `bridgevlan access-port INTERFACE VLAN` makes the access port alone.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

func main() {
	if len(os.Args) == 4 && os.Args[1] == "access-port" {
		vlan, err := strconv.Atoi(os.Args[3])
		if err == nil {
			err = accessPort(os.Args[2], vlan)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bridgevlan:", err)
			os.Exit(1)
		}
		return
	}
	if err := plugin(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) { // the real plugin has said its error on stdout
			os.Exit(exit.ExitCode())
		}
		_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"cniVersion": "0.4.0", "code": 999, "msg": err.Error()})
		os.Exit(1)
	}
}

// plugin runs the real plugin with the key `vlan` taken away, and keeps its promise.
func plugin() error {
	config, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	// by the name it was called by: that link lies among the plugins
	real := filepath.Join(filepath.Dir(os.Args[0]), "bridge.real")
	var said map[string]any
	if err := json.Unmarshal(config, &said); err != nil {
		return run(real, config, os.Stdout) // let it say what is wrong
	}
	vlan, _ := said["vlan"].(float64)
	bridge, _ := said["bridge"].(string)
	if vlan == 0 {
		return run(real, config, os.Stdout)
	}
	delete(said, "vlan")
	if config, err = json.Marshal(said); err != nil {
		return err
	}
	var result bytes.Buffer
	if err := run(real, config, &result); err != nil {
		os.Stdout.Write(result.Bytes())
		return err
	}
	if os.Getenv("CNI_COMMAND") == "ADD" {
		if err := tag(result.Bytes(), bridge, int(vlan)); err != nil {
			return err
		}
	}
	_, err = os.Stdout.Write(result.Bytes())
	return err
}

func run(program string, config []byte, stdout io.Writer) error {
	cmd := exec.Command(program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(config), stdout, os.Stderr
	return cmd.Run()
}

// tag makes an access port of the host's end that the plugin's result names.
func tag(result []byte, bridge string, vlan int) error {
	var r struct {
		Interfaces []struct{ Name, Sandbox string }
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return fmt.Errorf("result of the bridge plugin: %w", err)
	}
	for _, i := range r.Interfaces {
		if i.Sandbox == "" && i.Name != bridge {
			return accessPort(i.Name, vlan)
		}
	}
	return errors.New("result of the bridge plugin: no interface on the host's side")
}

// push tags what a pod sends, and goes on to the next program (TCX_NEXT).
func push(vlan int) asm.Instructions {
	const proto8021Q = 0x0081 // 0x8100 in network byte order
	return asm.Instructions{
		asm.Mov.Imm(asm.R2, proto8021Q),
		asm.Mov.Imm(asm.R3, int32(vlan)),
		asm.FnSkbVlanPush.Call(),
		asm.Mov.Imm(asm.R0, -1),
		asm.Return(),
	}
}

// pop takes the tag off what is for the pod, and drops what carries another or none.
func pop(vlan int) asm.Instructions {
	const vlanPresent, vlanTCI = 20, 24 // offsets in struct __sk_buff of <linux/bpf.h>
	const drop = 2                      // TCX_DROP
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R0, asm.R6, vlanPresent, asm.Word),
		asm.JEq.Imm(asm.R0, 0, "drop"),
		asm.LoadMem(asm.R0, asm.R6, vlanTCI, asm.Word),
		asm.And.Imm(asm.R0, 0xfff),
		asm.JNE.Imm(asm.R0, int32(vlan), "drop"),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.FnSkbVlanPop.Call(),
		asm.Mov.Imm(asm.R0, -1),
		asm.Return(),
		asm.Mov.Imm(asm.R0, drop).WithSymbol("drop"),
		asm.Return(),
	}
}

// accessPort has what enters the bridge from this interface tagged, and lets out to
// it, untagged, what carries this tag only. The programs live as long as the interface.
func accessPort(name string, vlan int) error {
	if vlan < 1 || vlan > 4094 {
		return fmt.Errorf("VLAN %d: want 1 to 4094", vlan)
	}
	device, err := net.InterfaceByName(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, side := range []struct {
		attach ebpf.AttachType
		code   asm.Instructions
	}{{ebpf.AttachTCXIngress, push(vlan)}, {ebpf.AttachTCXEgress, pop(vlan)}} {
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: side.code})
		if err != nil {
			return fmt.Errorf("eBPF program: %w", err)
		}
		err = link.RawAttachProgram(link.RawAttachProgramOptions{Target: device.Index, Program: program, Attach: side.attach})
		program.Close()
		if err != nil {
			return fmt.Errorf("eBPF on %s: %w", name, err)
		}
	}
	return nil
}
