package redact

import "strings"

// A Token is a type of token that has a characteristic beginning.
type Token struct {
	// Kind is the name of the type, such as "GitHub token".
	Kind string
	// Starts contains beginnings of such tokens. A word with one of these beginnings is hidden if
	// it is long enough. A word with a beginning in Sure is always hidden, ignoring case.
	Starts, Sure []string
	// Nearly contains beginnings of words that are hidden only if they match Pattern.
	Nearly []string
	// Sign is a text that every such token contains; it is searched first. Pattern is the regular
	// expression of the complete token, for code that must not mistake other words for tokens.
	Sign, Pattern string
}

// tokens is the only list of token types. It is used to hide tokens in logs and traffic, and the
// gateway's guard uses it to find tokens in texts.
var tokens = [...]Token{
	{Kind: "GitHub token", Sure: []string{"ghp_"}, Starts: []string{"gho_", "ghs_", "ghu_", "ghr_"}, Sign: "gh", Pattern: `\bgh[pousr]_[A-Za-z0-9]{30,255}\b`},
	{Kind: "GitHub token", Sure: []string{"github_pat_"}, Sign: "github_pat_", Pattern: `\bgithub_pat_[A-Za-z0-9_]{22,255}\b`},
	{Kind: "GitLab token", Sure: []string{"glpat-"}, Sign: "glpat-", Pattern: `\bglpat-[A-Za-z0-9_-]{20,}`},
	{Kind: "AWS access key", Starts: []string{"AKIA", "ASIA"}, Sign: "IA", Pattern: `\b(?:AKIA|ASIA)[A-Z2-7]{16}\b`},
	{Kind: "OpenAI or Anthropic key", Sure: []string{"sk-"}, Sign: "sk-", Pattern: `\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{20,}`},
	{Kind: "Slack token", Sure: []string{"xoxb-", "xoxp-"}, Starts: []string{"xoxa-", "xoxc-", "xoxd-", "xoxe-", "xoxo-", "xoxr-", "xoxs-"}, Sign: "xox", Pattern: `\bxox[a-eoprs]-(?:[A-Za-z0-9-]|%[0-9A-Fa-f]{2}){10,}`},
	{Kind: "Slack webhook", Nearly: []string{"hooks.slack.com"}, Sign: "hooks.slack.com", Pattern: `\bhooks\.slack\.com/services/T\w+/B\w+/\w{16,}`},
	{Kind: "Stripe key", Starts: []string{"sk_live_", "rk_live_"}, Sign: "_live_", Pattern: `\b[rs]k_live_[A-Za-z0-9]{16,}`},
	{Kind: "Google key", Starts: []string{"AIza"}, Sign: "AIza", Pattern: `\bAIza[A-Za-z0-9_-]{35}`},
	{Kind: "Google token", Starts: []string{"ya29."}, Sign: "ya29.", Pattern: `\bya29\.[A-Za-z0-9_-]{20,}`},
	{Kind: "npm token", Starts: []string{"npm_"}, Sign: "npm_", Pattern: `\bnpm_[A-Za-z0-9]{36}\b`},
	{Kind: "PyPI token", Starts: []string{"pypi-AgE"}, Nearly: []string{"pypi-"}, Sign: "pypi-", Pattern: `\bpypi-[A-Za-z0-9_-]{40,}`},
	{Kind: "Hugging Face token", Starts: []string{"hf_"}, Sign: "hf_", Pattern: `\bhf_[A-Za-z0-9]{30,}\b`},
	{Kind: "SendGrid key", Starts: []string{"SG."}, Sign: "SG.", Pattern: `\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`},
	{Kind: "DigitalOcean token", Starts: []string{"dop_v1_"}, Sign: "dop_v1_", Pattern: `\bdop_v1_[a-f0-9]{64}\b`},
	{Kind: "Slack app token", Starts: []string{"xapp-"}, Sign: "xapp-", Pattern: `\bxapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{20,}`},
	{Kind: "Shopify token", Starts: []string{"shpat_", "shpca_", "shppa_", "shpss_"}, Sign: "shp", Pattern: `\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b`},
	{Kind: "Databricks token", Starts: []string{"dapi"}, Sign: "dapi", Pattern: `\bdapi[a-f0-9]{32}\b`},
	{Kind: "Linear key", Starts: []string{"lin_api_"}, Sign: "lin_api_", Pattern: `\blin_api_[A-Za-z0-9]{32,}`},
	{Kind: "Notion token", Starts: []string{"ntn_"}, Sign: "ntn_", Pattern: `\bntn_[A-Za-z0-9]{40,}`},
	{Kind: "Supabase token", Starts: []string{"sbp_"}, Sign: "sbp_", Pattern: `\bsbp_[a-f0-9]{40}\b`},
	{Kind: "Vault token", Starts: []string{"hvs."}, Sign: "hvs.", Pattern: `\bhvs\.[A-Za-z0-9_-]{24,}`},
	{Kind: "age key", Starts: []string{"AGE-SECRET-KEY-"}, Sign: "AGE-SECRET-KEY-", Pattern: `\bAGE-SECRET-KEY-1[A-Z0-9]{50,}`},
	{Kind: "Telegram bot token", Sign: ":AA", Pattern: `\b\d{8,10}:AA[A-Za-z0-9_-]{32,}`},
	{Kind: "Azure storage key", Sign: "AccountKey=", Pattern: `AccountKey=[A-Za-z0-9+/]{60,}`},
	{Kind: "JSON web token", Starts: []string{"eyJ"}, Sign: "eyJ", Pattern: `\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`},
}

// Hidden is the text that replaces a secret.
const Hidden = "***"

// Tokens returns the types of tokens. The caller may change the slice, but not the slices in its
// elements.
func Tokens() []Token { return append([]Token(nil), tokens[:]...) }

// starts contains the beginnings of words that are hidden in any case and of any length.
var starts = append([]string{"authorization:", "bearer "}, startsOf(func(t *Token) []string { return t.Sure })...)

// prefixes contains the beginnings of other words that are hidden. Short words with these
// beginnings are not hidden, as they are often names of programs and settings.
var prefixes = append([]string{"Basic ", "pk-"}, startsOf(func(t *Token) []string { return t.Starts })...)

// nearly contains the beginnings of words that are hidden only if they are complete tokens.
var nearly = startsOf(func(t *Token) []string { return t.Nearly })

// signBehindColon is the sign of token types that contain a colon.
const signBehindColon = ":AA"

func startsOf(which func(*Token) []string) (all []string) {
	for i := range tokens {
		all = append(all, which(&tokens[i])...)
	}
	return all
}

// privateKey is the text that the first line of every private key contains.
const privateKey = "PRIVATE KEY"

// Looks reports whether a value has the form of a secret: it begins like a token of a well-known
// service or is a private key.
func Looks(value string) bool {
	const enough = 9 // minimum number of bytes after a prefix
	if value == "" {
		return false
	}
	first := value[0] | 0x20 // most words need no further check, and every word of every displayed message is examined
	for _, start := range starts {
		if start[0] == first && len(value) >= len(start) && strings.EqualFold(value[:len(start)], start) {
			return true
		}
	}
	for _, prefix := range prefixes {
		if prefix[0]|0x20 != first {
			continue
		}
		if rest, found := strings.CutPrefix(value, prefix); found && len(rest) >= enough {
			return true
		}
	}
	return len(value) > len(privateKey) && (strings.Contains(value, privateKey+"-----") || strings.Contains(value, privateKey+" BLOCK-----"))
}
