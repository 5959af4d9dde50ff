package main

import (
	"testing"

	"github.com/cldmnky/oooi/test/programs"
)

func TestMain(m *testing.M) { programs.Main(m, main) }
