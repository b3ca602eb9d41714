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

// versionText returns the text that a bug report should start with.
func versionText() string {
	info, _ := debug.ReadBuildInfo()
	spoken := append(revision.Modern(), revision.Legacy()...)
	return fmt.Sprintf("junction %s (%s%s, %s/%s)\nMCP %s\n",
		cli.Version, built(info), runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(spoken, ", "))
}

// built returns the revision of the sources, with a mark if they had changes. A build without a
// repository has the version of the module instead. The text ends with a comma. It is empty if
// neither is known.
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
