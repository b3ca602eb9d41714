package layer

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/junction-mcp/junction/gateway/approvals"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/oauth"
)

// readApprovals reads the webhook for calls that wait for approval.
func readApprovals(s *Stack, p *Plan) error {
	set := p.Settings.Approvals
	if set == nil || set.Webhook == nil {
		return nil
	}
	hook := set.Webhook
	secret := hook.Secret
	if s.Secret != nil && secret != "" {
		var err error
		if secret, err = s.Secret(context.Background(), secret); err != nil {
			return fmt.Errorf("approvals.webhook.secret: %w", err)
		}
	}
	at, err := url.Parse(hook.URL)
	if err != nil {
		return fmt.Errorf("approvals.webhook.url: %w", err)
	}
	// The operator named the host, which may therefore be private.
	client := oauth.Guarded(func(host string) bool { return strings.EqualFold(host, at.Hostname()) })
	p.webhook = approvals.Webhook{URL: hook.URL, Secret: secret, Slack: hook.Format == "slack", HTTP: client}
	return nil
}

// openApprovals makes the desk at which calls wait.
func openApprovals(s *Stack) error {
	s.messages = approvals.NewMessenger(s.Logger)
	s.Desk = approvals.New(approvals.Options{Replicas: s.Replicas, Secret: s.ReplicasSecret, Notify: func(q approvals.Call) {
		hook := s.plan.Load().webhook
		if hook.URL == "" {
			return
		}
		if s.Team != nil {
			hook.Team = s.Team()
		}
		s.messages.Send(hook, q)
	}})
	return nil
}

// closeApprovals waits for the messages that are being sent.
func closeApprovals(s *Stack) error {
	if s.messages != nil {
		s.messages.Close()
	}
	return nil
}

// awaitApproval returns middleware in which calls to a server wait for the approvals that rules ask
// for.
func awaitApproval(s *Stack, p *Plan, of Server) mcp.Middleware {
	if len(p.Books) == 0 {
		return nil
	}
	return s.Desk.Around(approvals.Server{Name: of.Name, Arguments: func(req *mcp.Request, data json.RawMessage) json.RawMessage {
		now := s.plan.Load()
		if o, some := now.redacted[of.Name]; some && req.Method == "tools/call" {
			data = o.Of(req.Name).Arguments.Hide(data)
		}
		return now.unlogged.Hide(data)
	}})
}
