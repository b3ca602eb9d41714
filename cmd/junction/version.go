package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is the version of the program.
const version = "0.1.0"

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			built := ""
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, setting := range info.Settings {
					if setting.Key == "vcs.revision" {
						built = ", " + setting.Value[:min(12, len(setting.Value))]
					}
				}
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "junction %s (%s %s/%s%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, built)
			return err
		},
	}
}
