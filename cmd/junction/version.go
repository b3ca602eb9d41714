package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/spf13/cobra"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the supported revisions of the protocol",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), versionText())
			return err
		},
	}
}

// versionText is what a report of a fault should begin with.
func versionText() string {
	info, _ := debug.ReadBuildInfo()
	spoken := append(revision.Modern(), revision.Legacy()...)
	return fmt.Sprintf("junction %s (%s%s, %s/%s)\nMCP %s\n",
		cli.Version, built(info), runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(spoken, ", "))
}

// built is the revision of the sources, marked where they had changes, or the version
// of the module where it was built from no repository; and a comma. Empty if neither
// is known.
func built(info *debug.BuildInfo) string {
	if info == nil {
		return ""
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit := settings["vcs.revision"]
	switch {
	case commit != "" && settings["vcs.modified"] == "true":
		return commit[:min(12, len(commit))] + "-dirty, "
	case commit != "":
		return commit[:min(12, len(commit))] + ", "
	case info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version + ", "
	}
	return ""
}
