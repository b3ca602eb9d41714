package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

type yes struct {
	OK bool `json:"ok"`
}

// agreeing returns client options for a revision, with a user who accepts every form.
func agreeing(revision string) mcp.ClientOptions {
	return mcp.ClientOptions{Revision: revision, OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"ok":true}`)}, nil
	}}
}

// A modern client is asked only if the tool returns the error of Elicit.
func TestAResultInPlaceOfTheErrorOfElicitIsLogged(t *testing.T) {
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "swallows", func(ctx context.Context, _ struct{}) (string, error) {
		if _, err := mcp.Elicit[yes](ctx, "sure?"); err != nil {
			return "not sure", nil
		}
		return "sure", nil
	})
	mcp.AddTool(s, "returns", func(ctx context.Context, _ struct{}) (string, error) {
		if _, err := mcp.Elicit[yes](ctx, "sure?"); err != nil {
			return "", err
		}
		return "sure", nil
	})
	for _, test := range []struct{ tool, revision, want, logged string }{
		{"swallows", "2026-07-28", "not sure", `name=swallows asked=elicitation/create`},
		{"swallows", "2025-11-25", "sure", ""},
		{"returns", "2026-07-28", "sure", ""},
	} {
		t.Run(test.tool+" "+test.revision, func(t *testing.T) {
			var log bytes.Buffer
			c, err := mcp.DialWith(t.Context(), stream.PipeWith(s, mcp.ServeOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}), agreeing(test.revision))
			if err != nil {
				t.Fatal(err)
			}
			result, err := c.CallTool(t.Context(), test.tool, nil)
			if err != nil || result.Text() != test.want {
				t.Errorf("got %q, %v; want %q", result.Text(), err, test.want)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if got := log.String(); !strings.Contains(got, test.logged) || test.logged == "" && got != "" || test.logged != "" && !strings.Contains(got, "return the error of Elicit") {
				t.Errorf("logged %q, want %q", got, test.logged)
			}
		})
	}
}

func TestElicitAfterTheCallFailsAlikeInBothEras(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			var after context.Context
			s := mcp.NewServer("s", "1")
			mcp.AddTool(s, "ends", func(ctx context.Context, _ struct{}) (string, error) {
				after = context.WithoutCancel(ctx)
				return "", nil
			})
			c, err := mcp.DialWith(t.Context(), stream.Pipe(s), agreeing(revision))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.CallTool(t.Context(), "ends", nil); err != nil {
				t.Fatal(err)
			}
			if _, err := mcp.Elicit[yes](after, "sure?"); err == nil || err.Error() != "elicitation/create: the client cannot be asked: the request is over" {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUnknownRevisionsAreRefusedByName(t *testing.T) {
	_, err := mcp.DialWith(t.Context(), stream.Pipe(mcp.NewServer("s", "1")), mcp.ClientOptions{Name: "weather", Revision: "2030-01-01"})
	const want = `server "weather" does not support 2030-01-01: this revision is unknown; known are [2026-07-28`
	if _, is := errors.AsType[*mcp.RevisionError](err); !is || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want a RevisionError %s…", err, want)
	}
}
