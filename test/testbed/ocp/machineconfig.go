// This file has the image of the machine-config-operator. HyperShift's Ignition server downloads its programs and templates, and runs the
// programs to write the Ignition configuration of nodes. The newest version that is available is from the development of 4.19.
package ocp

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/cldmnky/oooi/test/testbed/image"
)

// enterpriseLinux is what images of OpenShift 4.20 are built on. The Ignition server looks for other programs if the image of the
// machine-config-operator has an older version than its own.
const enterpriseLinux = "ID=\"rhel\"\nVERSION_ID=\"9.6\"\n"

// osRelease returns the file that names the operating system of an image.
func osRelease() image.File {
	return image.File{Path: "/usr/lib/os-release", Data: []byte(enterpriseLinux)}
}

// machineConfigContent returns the image of the machine-config-operator.
func machineConfigContent(s Sources) (RegistryImage, error) {
	files := map[string][]byte{"usr/lib/os-release": []byte(enterpriseLinux)}
	templates := filepath.Join(s.MachineConfig, "templates")
	err := filepath.WalkDir(templates, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(templates, file)
		if err != nil {
			return err
		}
		files[path.Join("etc/mcc/templates", name)], err = os.ReadFile(file)
		return err
	})
	programs := registryPrograms(s, "machine-config-operator", "machine-config-controller", "machine-config-server")
	return RegistryImage{Name: machineConfigImage, Files: files, Programs: programs}, err
}

// registryPrograms returns programs, which are in an image's usr/bin.
func registryPrograms(s Sources, names ...string) map[string]string {
	programs := map[string]string{}
	for _, name := range names {
		programs["usr/bin/"+name] = s.Bin(name)
	}
	return programs
}
