package wire

import (
	"regexp"
	"strconv"
	"strings"
)

// leastWindow is the least number of tokens that is believed to be a model's window: a
// smaller one in a complaint counts something else.
const leastWindow = 256

// windows find how many tokens a model takes in what providers say about a request that
// is too long. The number of the request stands next to it, and must not be taken for it.
var windows = []*regexp.Regexp{
	// OpenAI, DeepSeek, vLLM, OpenRouter, Mistral: "maximum context length is 32768 tokens"; xAI: "maximum prompt length is";
	// vLLM: "longer than the maximum model length of"
	regexp.MustCompile(`(?i)maximum (?:context|prompt|model|input) (?:length|size|window) (?:is|of) (?:only )?([\d,]+)`),
	// llama.cpp: "exceeds the available context size (4096 tokens)"; LM Studio: "loaded with context length of only 4096"
	regexp.MustCompile(`(?i)context (?:size|length|window) (?:\(|of (?:only )?|is (?:only )?)([\d,]+)`),
	// Anthropic: "208310 tokens > 200000 maximum", "context limit: 188240 + 21333 > 200000"
	regexp.MustCompile(`(?i)[\d,]+(?: tokens)? > ([\d,]+)`),
	// Gemini: "exceeds the maximum number of tokens allowed (1048576)"
	regexp.MustCompile(`(?i)maximum number of (?:input )?tokens(?: allowed)? \(([\d,]+)`),
	// Qwen: "Range of input length should be [1, 30720]"
	regexp.MustCompile(`(?i)input length should be \[\d+, ?([\d,]+)\]`),
	// Mistral: "too large for model with 32768 maximum context length"
	regexp.MustCompile(`(?i)([\d,]+) maximum context length`),
}

// windowOf is how many tokens the model takes, as a complaint says; 0 if it does not.
func windowOf(c Complaint) int {
	if c.Window >= leastWindow {
		return c.Window
	}
	for _, form := range windows {
		if match := form.FindStringSubmatch(c.Message); match != nil {
			if n, err := strconv.Atoi(strings.ReplaceAll(match[1], ",", "")); err == nil && n >= leastWindow {
				return n
			}
		}
	}
	return 0
}
