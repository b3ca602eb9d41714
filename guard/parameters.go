package guard

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

// talkParameters lists names of parameters, letters only, that ask the model for text that a tool
// has no reason to want.
var talkParameters = map[string]bool{
	"systemprompt": true, "systeminstructions": true, "systemmessage": true, "conversationhistory": true, "chathistory": true, "messagehistory": true,
	"fullconversation": true, "conversationcontext": true, "conversationtranscript": true, "chainofthought": true, "toolcallhistory": true,
	"toolslist": true, "availabletools": true, "previousmessages": true, "contextwindow": true, "usermessages": true, "fullcontext": true, "hiddenprompt": true,
	"developerprompt": true, "reasoningtrace": true, "initialprompt": true, "originalprompt": true,
}

// talkParameter returns the weight of a signal for a parameter's name, or 0. A name between
// underscores imitates a part of the protocol.
func talkParameter(name string) int {
	letters := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r | 0x20
		case r >= 'a' && r <= 'z':
			return r
		}
		return -1
	}, cut(name, maxWord))
	switch {
	case !talkParameters[letters]:
		return 0
	case strings.HasPrefix(name, "_") || strings.HasPrefix(name, "$"):
		return blockAt
	}
	return 3
}

// concernsModels reports whether a definition is about conversations or models. Its tool may then
// have a good reason to ask for the text of one.
func concernsModels(texts []string) bool {
	names := theLanguage().names
	wanted := names["convo"] | names["model"] | names["log"] | names["sysprompt"]
	for _, text := range texts {
		text = splitCamel(cut(text, maxText))
		words, _ := wordsOf(text)
		for _, w := range words {
			if w.ideas&wanted != 0 || strings.HasPrefix(strings.ToLower(text[w.start:w.end]), "prompt") {
				return true
			}
		}
	}
	return false
}

// asked lists words for secrets that a form must not ask for. The server would see them in clear
// text, and the specification forbids it.
var asked = []string{"password", "passphrase", "passwd", "passcode", "seed phrase", "recovery phrase", "mnemonic", "private key", "secret key", "api key", "apikey", "api token",
	"access token", "auth token", "bearer token", "refresh token", "client secret", "credential", "cvv", "card number", "social security", "ssn", "one-time code", "otp", "2fa code",
	"verification code", "secret phrase", "secret recovery", "backup phrase", "ssh key", "personal access token", "pin code", "security code", "master key", "wallet seed", "pwd", "credit card", "debit card", "card details",
	"your pin", "pin number", "code we sent", "code we have sent", "code sent", "authenticator code", "login code", "sms code", "recovery code", "backup code", "security answer", "maiden name", "recovery words", "seed words", "12 words", "24 words"}

// elicitation scans a request to the user. A form that asks for a secret is blocked; a request to
// open a web page may lead to such a form.
func (w *walker) elicitation(params json.RawMessage, field string) {
	w.walk(params, field, InElicitation)
	if text(jsonrpc.Get(params, "mode")) == "url" {
		return
	}
	if words, where := w.asksFor(params, field); words != "" {
		w.report.add(signal{rule: "asks-for-secret", weight: blockAt, where: where, excerpt: words,
			why: "asks for a secret in a form, which the server would see: better decline (servers must use their own web page for this)"})
	}
}

// asksFor returns the first word for a secret in the message or the fields of a form.
func (w *walker) asksFor(params json.RawMessage, field string) (words, where string) {
	takesText := false // whether any field takes text
	for p := range schema.Look(jsonrpc.Get(params, "requestedSchema")).Properties() {
		at, types := field+".requestedSchema.properties."+cut(p.Name, maxWord), p.Types()
		if len(types) > 0 && !slices.Contains(types, "string") {
			continue
		}
		takesText = takesText || len(types) > 0 && p.Choices() == nil
		if strings.EqualFold(p.Name, "pin") {
			return "pin", at
		}
		for _, s := range []string{p.Name, p.Text("title"), p.Text("description")} {
			if words = secretWord(s); words != "" {
				return words, at
			}
		}
	}
	if takesText {
		if words = secretWord(text(jsonrpc.Get(params, "message"))); words != "" {
			where = field + ".message"
		}
	}
	return words, where
}

// secretWord returns the first entry of asked that s contains as whole words, or "".
func secretWord(s string) string {
	spaced := " " + strings.Join(strings.FieldsFunc(splitCamel(plainForm(Clean(cut(s, 4<<10)))), func(r rune) bool {
		return r == '_' || r == '-' || r == ' ' || r == '.' || r == ',' || r == ':' || r == '?' || r == '!' || r == '\n' || r == '\t' || r == '(' || r == ')' || r == '/' || r == '"' || r == '\''
	}), " ") + " "
	spaced = strings.ToLower(spaced)
	for _, words := range asked {
		at := strings.Index(spaced, " "+strings.ReplaceAll(words, "-", " "))
		if at < 0 {
			continue
		}
		end := spaced[at+1+len(words):]
		if end[0] == ' ' || strings.HasPrefix(end, "s ") {
			return words
		}
	}
	return ""
}

// splitCamel inserts a space before each capital that follows a small letter.
func splitCamel(s string) string {
	var b strings.Builder
	for i, r := range s {
		if i > 0 && r >= 'A' && r <= 'Z' && s[i-1] >= 'a' && s[i-1] <= 'z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}
