package settings

import (
	"errors"
	"net/url"
)

// Approvals configures calls that wait for the approval of a role.
type Approvals struct {
	Webhook *Webhook `json:"webhook,omitempty" doc:"an address that gets a message about each call that begins to wait; messages have no arguments"`
}

// A Webhook is an address that gets messages.
type Webhook struct {
	URL    string `json:"url" max:"2000" example:"https://hooks.example.com/approvals" doc:"its URL, or ${file:PATH}, ${secret:NAME} or ${VARIABLE} with it, as the URL is a secret at some services; over http only on this machine or in a private network that you trust"`
	Secret string `json:"secret,omitempty" max:"2000" doc:"signs the messages as in the Standard Webhooks specification: ${file:PATH}, ${secret:NAME}, ${VARIABLE}, or the text itself"`
	Format string `json:"format,omitempty" enum:"json,slack" default:"json" doc:"the form of the messages: JSON, or that of Slack"`
}

// check returns an error for faults that the schema cannot express.
func (a *Approvals) check() error {
	if a == nil || a.Webhook == nil {
		return nil
	}
	if kind, _ := Reference(a.Webhook.URL); kind != "" {
		return nil
	}
	_, err := WebhookURL(a.Webhook.URL)
	return err
}

// WebhookURL returns the URL of a webhook. Its error does not repeat the text, which is a secret at
// some services.
func WebhookURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("approvals.webhook.url: expected the URL of a webhook, such as https://hooks.example.com/approvals")
	}
	return u, nil
}
