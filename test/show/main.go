// Command show prints a whole file of a story of test/scenarios, as tests read
// it: its objects, or the golden file that is named.
//
//	go run ./test/show two-edges | bin/oooi plan -f -
//	go run ./test/show two-edges plan.json
package main

import (
	"fmt"
	"os"

	"github.com/cldmnky/oooi/test/golden"
)

func main() {
	if err := show(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func show(args []string) error {
	file := "objects.yaml"
	if len(args) == 2 {
		file = args[1]
	} else if len(args) != 1 {
		return fmt.Errorf("usage, in the folder of go.mod: go run ./test/show STORY [FILE]")
	}
	stories, err := golden.All(".")
	if err != nil {
		return err
	}
	for _, s := range stories {
		if s.Name != args[0] {
			continue
		}
		text, err := s.Whole(file)
		if err == nil && text == nil {
			err = fmt.Errorf("story %s has no %s: it ends before that step", s.Name, file)
		}
		os.Stdout.Write(text)
		return err
	}
	return fmt.Errorf("no story %s below test/scenarios", args[0])
}
