// This file finds the shared libraries of programs.

package image

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

var libraryPath = regexp.MustCompile(`(/\S+) \(0x`)

// Libraries returns the loader and the libraries of a dynamically linked program, at the paths where it looks for them. For a
// statically linked program, it returns none.
func Libraries(ctx context.Context, program string) ([]File, error) {
	out, err := exec.CommandContext(ctx, "ldd", program).CombinedOutput()
	text := string(out)
	if strings.Contains(text, "not a dynamic executable") || strings.Contains(text, "statically linked") {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w: %s", program, err, text)
	}
	if strings.Contains(text, "not found") {
		return nil, fmt.Errorf("ldd %s: %w\n%s", program, errors.New("a library is missing"), text)
	}
	var files []File
	for _, match := range libraryPath.FindAllStringSubmatch(text, -1) {
		files = append(files, File{Path: match[1], Source: match[1]})
	}
	return files, nil
}
