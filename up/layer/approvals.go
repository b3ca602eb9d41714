package layer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/config/settings"
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
	hook := *set.Webhook
	for _, one := range []struct {
		name   string
		text   *string
		isText bool // whether it can be the text itself, which is a secret then
	}{{"url", &hook.URL, false}, {"secret", &hook.Secret, true}} {
		if kind, _ := settings.Reference(*one.text); s.Secret == nil || kind == "" && (!one.isText || *one.text == "") {
			continue
		}
		found, err := s.Secret(context.Background(), *one.text)
		if err != nil {
			return fmt.Errorf("approvals.webhook.%s: %w", one.name, err)
		}
		*one.text = found
	}
	at, err := settings.WebhookURL(hook.URL)
	if err != nil {
		return err
	}
	// The operator named the host, which may therefore be private.
	client := oauth.Guarded(func(host string) bool { return strings.EqualFold(host, at.Hostname()) })
	p.webhook = approvals.Webhook{URL: hook.URL, Secret: hook.Secret, Slack: hook.Format == "slack", HTTP: client}
	return nil
}

// openApprovals makes the desk at which calls wait.
func openApprovals(s *Stack) error {
	s.messages = approvals.NewMessenger(s.Logger)
	s.Desk = approvals.New(approvals.Options{Team: s.Team, Replicas: s.Replicas, Secret: s.ReplicasSecret, Notify: func(q approvals.Call) {
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
