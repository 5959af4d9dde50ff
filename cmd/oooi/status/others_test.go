package status_test

import (
	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/check"
	"github.com/cldmnky/oooi/cmd/oooi/picture"
	"github.com/cldmnky/oooi/cmd/oooi/status"
)

func init() { status.Others = []*cobra.Command{check.New(), picture.New()} }
