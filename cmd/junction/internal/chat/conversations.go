package chat

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/spf13/cobra"
)

const conversationsExitHelp = `Exit codes:
  0    done
  2    the command line is wrong, or the ID fits no conversation or several
  3    a local file failed: the stored conversations, or the file to import
  130  interrupted (Ctrl-C)`

const MaxTitleShown = 60 // characters of a conversation's title in a list

// ConversationsCommand returns the command conversations.
func ConversationsCommand(a *cli.App) *cobra.Command {
	return cli.Group("conversations", "List, show, export, import, fork and remove stored conversations", `Work with the conversations of junction chat. They are stored in conversations.db in
junction's folder of your configuration, or in the folder that JUNCTION_STATE names.

ID is an ID from the list, the beginning of one, or "last". junction chat --resume=ID
continues a conversation.

`+conversationsExitHelp,
		conversationsListCommand(a), conversationsExportCommand(a), conversationsImportCommand(a),
		conversationsForkCommand(a), conversationsRemoveCommand(a))
}

// archiveCommand returns a command about stored conversations. Its arguments are one to most words,
// which expected describes. If expected is empty, any number of words is valid.
func archiveCommand(a *cli.App, use, short, expected string, most int, run func(ctx context.Context, stored *archive.Archive, words []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, RunE: func(cmd *cobra.Command, words []string) error {
		if expected != "" && (len(words) == 0 || len(words) > most) {
			return cli.Usagef("%s: expected %s", cmd.CommandPath(), expected)
		}
		stored, err := reach.OpenConversations(cmd.Context(), a.Place)
		if err != nil {
			return err
		}
		defer stored.Close()
		return run(cmd.Context(), stored, words)
	}}
}

func conversationsListCommand(a *cli.App) *cobra.Command {
	var filter archive.Filter
	var here bool
	cmd := archiveCommand(a, "list [WORD…]", "List conversations, the last one first; with words, those that contain all of them", "", 0,
		func(ctx context.Context, stored *archive.Archive, words []string) error {
			filter.Search = strings.Join(words, " ")
			if here {
				folder, err := a.Getwd()
				if err != nil {
					return err
				}
				filter.Folder = folder
			}
			return listConversations(ctx, a, stored, filter)
		})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if filter.Limit < 0 {
			return cli.Usagef("--limit cannot be negative; 0 means the default")
		}
		return nil
	}
	cmd.Flags().BoolVar(&here, "here", false, "list list only those that were begun in this folder")
	cmd.Flags().IntVar(&filter.Limit, "limit", 0, "list at most `N` (default 50, at most 1000)")
	a.JSONFlag(cmd, []archive.Meta{})
	return cmd
}

// listConversations prints the conversations that a filter selects.
func listConversations(ctx context.Context, a *cli.App, stored *archive.Archive, filter archive.Filter) error {
	metas, err := stored.List(ctx, filter)
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		return a.PrintJSON(metas)
	}
	if len(metas) == 0 {
		if filter.Search+filter.Folder == "" {
			a.Screen.Printf("No conversation is stored yet; junction chat begins one.\n")
		} else {
			a.Screen.Printf("No conversation matches.\n")
		}
		return nil
	}
	rows := make([][]string, len(metas))
	for i, m := range metas {
		title := plaintext.Line(m.Title, MaxTitleShown)
		if m.Match != "" && m.Match != m.Title {
			title += ": " + plaintext.Line(m.Match, MaxTitleShown)
		}
		rows[i] = []string{m.ID, m.Changed.Local().Format(time.DateTime), plaintext.Count(m.Questions, "question"), title}
	}
	_, err = fmt.Fprint(a.Out, a.Table(rows, 0))
	return err
}

func conversationsExportCommand(a *cli.App) *cobra.Command {
	var format string
	cmd := archiveCommand(a, "export ID", "Write a conversation to standard output", "one ID", 1, func(ctx context.Context, stored *archive.Archive, words []string) error {
		return storedFault(words[0], stored.Export(ctx, words[0], archive.Format(format), a.Stdout))
	})
	cmd.Aliases = []string{"show"}
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains([]archive.Format{archive.Markdown, archive.JSON}, archive.Format(format)) {
			return cli.Usagef("--format: expected markdown or json, got %q", format)
		}
		return nil
	}
	cmd.Flags().StringVar(&format, "format", string(archive.Markdown), "`FORMAT`: markdown, or json, which can be imported")
	return cmd
}

func conversationsImportCommand(a *cli.App) *cobra.Command {
	return archiveCommand(a, "import FILE", "Store a conversation that was exported as JSON; - reads standard input", "one file", 1,
		func(ctx context.Context, stored *archive.Archive, words []string) error {
			in := a.Stdin
			if words[0] != "-" {
				file, err := os.Open(a.Path(words[0]))
				if err != nil {
					return err
				}
				defer file.Close()
				in = file
			}
			meta, err := stored.Import(ctx, in)
			return printID(a, meta, err)
		})
}

func conversationsForkCommand(a *cli.App) *cobra.Command {
	var upTo int
	cmd := archiveCommand(a, "fork ID", "Copy a conversation, to continue the copy in another way", "one ID, and --entries of at least 0", 1,
		func(ctx context.Context, stored *archive.Archive, words []string) error {
			meta, err := stored.Fork(ctx, words[0], upTo)
			return printID(a, meta, storedFault(words[0], err))
		})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if upTo < 0 {
			return cli.Usagef("%s: expected one ID, and --entries of at least 0", cmd.CommandPath())
		}
		return nil
	}
	cmd.Flags().IntVar(&upTo, "entries", 0, "copy only the first `N` entries")
	return cmd
}

// printID prints the ID of a new conversation if err is nil.
func printID(a *cli.App, meta archive.Meta, err error) error {
	if err == nil {
		_, err = fmt.Fprintln(a.Stdout, meta.ID)
	}
	return err
}

func conversationsRemoveCommand(a *cli.App) *cobra.Command {
	cmd := archiveCommand(a, "remove ID…", "Remove conversations, and overwrite their text", "at least one ID", math.MaxInt,
		func(ctx context.Context, stored *archive.Archive, words []string) error {
			for _, id := range words {
				if err := stored.Delete(ctx, id); err != nil {
					return storedFault(id, err)
				}
			}
			return nil
		})
	cmd.Aliases = []string{"delete"}
	return cmd
}
