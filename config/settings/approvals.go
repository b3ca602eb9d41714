package settings

import (
	"fmt"
	"net/url"
)

// Approvals configures calls that wait for the approval of a role.
type Approvals struct {
	Webhook *Webhook `json:"webhook,omitempty" doc:"an address that gets a message about each call that begins to wait; messages have no arguments"`
}

// A Webhook is an address that gets messages.
type Webhook struct {
	URL    string `json:"url" max:"2000" example:"https://hooks.example.com/approvals" doc:"its URL; over http only on this machine or in a private network that you trust"`
	Secret string `json:"secret,omitempty" max:"2000" doc:"signs the messages as in the Standard Webhooks specification: ${file:PATH}, ${secret:NAME}, ${VARIABLE}, or the text itself"`
	Format string `json:"format,omitempty" enum:"json,slack" default:"json" doc:"the form of the messages: JSON, or that of Slack"`
}

// check returns an error for faults that the schema cannot express. It does not repeat the URL,
// which is a secret at some services.
func (a *Approvals) check() error {
	if a == nil || a.Webhook == nil {
		return nil
	}
	if u, err := url.Parse(a.Webhook.URL); err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("approvals.webhook.url: expected the URL of a webhook, such as https://hooks.example.com/approvals")
	}
	return nil
}
