package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/spf13/cobra"
)

// eachCommand calls do for a command and all below it.
func eachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, do)
	}
}

// --json means the same everywhere, and help has the fields.
func TestJSONMeansTheSameForAllCommands(t *testing.T) {
	t.Parallel()
	commands := 0
	eachCommand(root(new(cli.App), nil), func(cmd *cobra.Command) {
		flag := cmd.Flags().Lookup("json")
		if flag == nil {
			return
		}
		commands++
		if flag.Usage != cli.JSONUsage {
			t.Errorf("%s: --json means %q", cmd.CommandPath(), flag.Usage)
		}
		if help := runs(t, "", append(strings.Fields(cmd.CommandPath())[1:], "--help")...).stdout; !strings.Contains(help, cli.JSONFields(cmd, cli.HelpWidth)) {
			t.Errorf("%s: help lacks the fields: %s", cmd.CommandPath(), help)
		}
		for _, v := range flag.Value.(*cli.JSONValue).Written {
			if len(cli.FieldLines(reflect.TypeOf(v), "", map[reflect.Type]string{})) == 0 && v != (struct{}{}) {
				t.Errorf("%s: %T has no fields", cmd.CommandPath(), v)
			}
		}
	})
	if commands < 30 {
		t.Errorf("%d commands have --json", commands)
	}
}
