package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/spf13/cobra"
	"golang.org/x/mod/semver"
)

// newestURL describes the newest release.
const newestURL = "https://api.github.com/repos/junction-mcp/junction/releases/latest"

func versionCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the supported revisions of the protocol",
		Args:  cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := versionText()
			if check {
				newest, err := newestVersion(cmd.Context(), http.DefaultClient, newestURL)
				if err != nil {
					return err
				}
				text += comparison(cli.Version, newest)
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "ask github.com for the newest release; nothing asks without this flag")
	return cmd
}

// newestVersion returns the version of the newest release.
func newestVersion(ctx context.Context, client *http.Client, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", fmt.Errorf("the newest release is not known: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the newest release is not known: %s responded %s", req.URL.Host, resp.Status)
	}
	var release struct {
		Tag string `json:"tag_name"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&release); err != nil {
		return "", fmt.Errorf("the newest release is not known: %w", err)
	}
	if !semver.IsValid(release.Tag) {
		return "", fmt.Errorf("the newest release has the tag %.40q, which is not a version", release.Tag)
	}
	return strings.TrimPrefix(release.Tag, "v"), nil
}

// comparison returns a line about the newest release.
func comparison(current, newest string) string {
	if semver.Compare("v"+newest, "v"+current) > 0 {
		return fmt.Sprintf("%s is available: https://github.com/junction-mcp/junction/releases/tag/v%[1]s\n", newest)
	}
	return "This is the newest release.\n"
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
