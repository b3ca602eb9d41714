package up_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/terminal"
)

// What waits for a restart is named when the file changes, and only that.
func TestAChangeThatWaitsForARestartIsNamed(t *testing.T) {
	before := func() *settings.Settings {
		return &settings.Settings{
			Audit:         &settings.Audit{Folder: "log", Sync: "call", MaxFile: "1MB"},
			Authorization: settings.Authorization{Needs: []string{"use"}, Tools: map[string][]string{"files__*": {"write"}}},
		}
	}
	for name, c := range map[string]struct {
		auth   string
		change func(*settings.Settings)
		want   string // paths
	}{
		"nothing changed":                       {settings.AuthLocal, func(*settings.Settings) {}, ""},
		"the folder of the log":                 {settings.AuthLocal, func(s *settings.Settings) { s.Audit.Folder = "other" }, "audit.folder"},
		"for how long it is kept":               {settings.AuthLocal, func(s *settings.Settings) { s.Audit.KeepFor = time.Hour }, "audit.keepFor"},
		"where its lines are sent":              {settings.AuthLocal, func(s *settings.Settings) { s.Audit.Export = []string{"https://logs.example/v1/logs"} }, "audit.export"},
		"how large its files become":            {settings.AuthLocal, func(s *settings.Settings) { s.Audit.MaxFile = "2MB" }, "audit.maxFile"},
		"what of calls it keeps":                {settings.AuthLocal, func(s *settings.Settings) { s.Audit.Arguments = "omit" }, ""},
		"a tool needs a scope that is known":    {settings.AuthLocal, func(s *settings.Settings) { s.Authorization.Tools["db__*"] = []string{"write"} }, ""},
		"a tool needs a scope that is new":      {settings.AuthLocal, func(s *settings.Settings) { s.Authorization.Tools["db__*"] = []string{"admin"} }, "authorization.tools"},
		"what everything needs":                 {settings.AuthLocal, func(s *settings.Settings) { s.Authorization.Needs = nil }, "authorization.needs"},
		"how long a token holds":                {settings.AuthLocal, func(s *settings.Settings) { s.Authorization.TokenTime = time.Hour }, "authorization.tokenTime"},
		"whether tokens are bound":              {settings.AuthLocal, func(s *settings.Settings) { s.Authorization.Proofs = "needed" }, "authorization.proofs"},
		"whether clients register":              {settings.AuthLocal, func(s *settings.Settings) { s.Authorization.RegisteredOnly = true }, "authorization.registeredOnly"},
		"a new scope, and an issuer elsewhere":  {"keys,https://login.example", func(s *settings.Settings) { s.Authorization.Scopes = []string{"x"} }, "authorization.scopes"},
		"a new scope where only keys let in":    {settings.AuthKeys, func(s *settings.Settings) { s.Authorization.Scopes = []string{"x"} }, ""},
		"a new scope where everybody is let in": {settings.AuthNone, func(s *settings.Settings) { s.Authorization.Scopes = []string{"x"} }, ""},
		"proxies where only keys let in":        {settings.AuthKeys, func(s *settings.Settings) { s.Authorization.TrustedProxies = []string{"unix"} }, "authorization.trustedProxies"},
		"there is no log any more":              {settings.AuthNone, func(s *settings.Settings) { s.Audit = nil }, "audit, audit.folder, audit.maxFile, audit.sync"},
		"how long the end takes":                {settings.AuthNone, func(s *settings.Settings) { s.Drain = &settings.Drain{Time: new(time.Minute)} }, "drain.time"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			v := &up.Served{App: reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Screen: terminal.NewScreen(&out)}}), Gateway: clitest.GatewayWith(t, before())}
			v.Options.Auth = (&settings.Settings{Auth: strings.Split(c.auth, ",")}).Ways()
			next := before()
			c.change(next)
			v.ReportWaiting(next)
			want := ""
			if c.want != "" {
				want = "junction: these changes apply when junction up starts again: " + c.want + "\n"
			}
			if got := out.String(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
