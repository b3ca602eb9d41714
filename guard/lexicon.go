package guard

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// ideas is a set of meanings of a word. Rules match ideas, so that synonyms match, too.
type ideas uint64

// vocabulary has a line for each idea: its name, and the stems of its words. Endings such as "-s",
// "-ed" and "-ing" need not be listed. Words that have the meaning only together are joined by "_".
const vocabulary = `
ignore    ignore disregard forget override overrule bypass circumvent discard supersede neglect dismiss abandon disable deactivate unlearn skip stop_following stop_obeying put_aside set_aside
prior     previous previously prior earlier above preceding existing original foregoing former initial your developer
every     all any every other safety system these those everything
orders    instruction guardrail safeguard directive guideline programming safety_concern safety_check safety_rule safety_warning safety_measure security_warning security_check
rules     rule prompt policy policies restriction moderation ethic training order guidance
not       not never dont without avoid refrain cannot nor mustnt shouldnt neither no neednt doesnt wont omit nothing
tell      tell mention inform informed notify notified reveal disclose share alert warn acknowledge explain announce discuss say expose bring_up bringing_up let_on any_reference any_trace
show      show display report share output print surface repeat recite dump
ask       ask confirm consult permission approval consent confirmation request question bother disturb trouble check_with
user      user human person operator anyone anybody owner victim whoever
before    before ahead prior precede precondition prerequisite
use       call use invoke run execute perform trigger utilize employ
any       any all every other others each another whichever
must      must always mandatory shall required imperative need should have_to has_to
read      read open load retrieve cat extract collect gather obtain copy dump grab harvest scan fetch
send      send pass post upload transmit forward exfiltrate submit deliver leak relay embed include append attach insert supply smuggle provide hand
away      send post upload transmit forward exfiltrate leak relay smuggle copied
cred      credential password passwd passphrase secret apikey mnemonic private_key api_key api_token access_key access_token auth_token bearer_token refresh_token session_token
cred      session_cookie ssh_key signing_key encryption_key key_material card_number card_detail stored_card saved_card bank_detail seed_phrase recovery_phrase security_number github_token oauth_token user_token developer_token your_token keychain keystore key_store
param     parameter argument field param
convo     conversation chat dialogue talking
log       history transcript log context messages memory
whole     entire full whole complete verbatim raw
sysprompt system_prompt system_message system_instruction initial_prompt hidden_prompt initial_instruction original_prompt hidden_instruction
external  ngrok pastebin attacker exfil collector webhook remote_server remote_database remote_host remote_endpoint
remote    external remote third outside
host      http https server endpoint host url address site domain
everything everything anything all_you
unbound   dan god jailbreak jailbroken unrestricted unfiltered uncensored unbound evil no_limit no_restriction without_restriction without_limit without_rule developer_mode debug_mode maintenance_mode admin_mode test_mode
you       you your yourself youre youve youll
now       now this_point
authority system administrator admin anthropic openai developer
follow    follow obey comply attention heed bound subject
instead   instead only in_place rather_than
sink      exfiltrate siphon keylogger keylog backdoor ransomware botnet rootkit
contents  content contents value data result input output response reply answer respond
void      no_longer void superseded revoked cancelled suspended lifted waived removed switched_off turned_off not_apply not_hold not_count not_bind
steal     steal stolen harvest siphon exfiltrate exfiltration
put       include embed append attach add insert supply put pass write record bcc fill paste go_into
attempt   attempt whether if try trying injection phrase pattern prompt text input message like such attack jailbreak adversarial malicious
attack    attack poison attacker adversarial adversary malicious manipulate jailbreak injection
environ   environment_variable env_variable env_var env_file env_value environment_value cookie clipboard keystroke envvar private_repo private_repository private_repositorie private_file private_message private_data personal_data
environ   home_directory home_directorie home_folder home_dir config_file configuration_file session_data personal_detail personal_information sensitive_information sensitive_data
environ   sensitive_file private_information contact_list address_book browser_history browsing_history saved_login
told      said told given gave assigned received wrote written typed asked
model     model assistant ai llm agent chatbot copilot chatgpt gpt
machine   assistant ai llm agent chatbot copilot chatgpt gpt bot language_model ai_model
meta      detect flag filter classify identify recognize example phrase such like term string named called contain pattern attempt injection moderation scanner test sample search quote mean match warn check verify prevent moderate determine report guard catch lint leaked exposed
prefer    override outrank precede supersede trump precedence
`

// simple lists words in the names of tools that only compute. Such a tool needs no files, keys or
// other machines.
var simple = map[string]bool{
	"sum": true, "subtract": true, "multiply": true, "divide": true, "calculate": true, "calculator": true, "calc": true, "math": true, "arithmetic": true, "average": true, "median": true, "sqrt": true,
	"reverse": true, "uppercase": true, "lowercase": true, "capitalize": true, "string": true, "strings": true, "concat": true, "slugify": true, "trim": true, "format": true, "sort": true, "count": true, "length": true,
	"uuid": true, "random": true, "unit": true, "units": true, "temperature": true, "percentage": true, "numbers": true, "color": true,
}

// compounds lists words that change the meaning of "user" before them, as in user interface.
var compounds = map[string]bool{
	"interface": true, "interfaces": true, "menu": true, "group": true, "groups": true, "agent": true, "id": true, "ids": true, "account": true, "accounts": true,
	"manual": true, "guide": true, "name": true, "names": true, "profile": true, "profiles": true, "role": true, "roles": true, "input": true, "data": true, "table": true,
	"experience": true, "record": true, "records": true, "session": true, "sessions": true, "land": true, "space": true, "defined": true, "friendly": true, "facing": true, "supplied": true, "provided": true, "settings": true, "story": true, "stories": true, "permissions": true, "error": true, "errors": true,
}

// messages lists words that change the meaning of "webhook" before them: a webhook event is a
// message, not a destination.
var messages = map[string]bool{"notification": true, "notifications": true, "event": true, "events": true}

// A language holds the tables of words for the rules.
type language struct {
	names map[string]ideas // ideas by name
	words map[string]ideas // ideas by stem of a word
	pairs map[string]ideas // ideas by two joined words
	ends  map[string]bool  // last words of pairs
}

// theLanguage parses the vocabulary on first use.
var theLanguage = sync.OnceValue(func() language {
	l := language{names: map[string]ideas{}, words: map[string]ideas{}, pairs: map[string]ideas{}, ends: map[string]bool{}}
	next := ideas(1)
	for line := range strings.Lines(vocabulary) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		bit := l.names[fields[0]]
		if bit == 0 {
			bit, next = next, next<<1
			l.names[fields[0]] = bit
		}
		for _, w := range fields[1:] {
			if _, last, two := strings.Cut(w, "_"); two {
				l.pairs[w] |= bit
				l.ends[last] = true
				continue
			}
			l.words[w] |= bit
		}
	}
	l.names["secretfile"] = next
	if next == 0 {
		panic(fmt.Sprintf("guard: more ideas than %d", 64))
	}
	return l
})

// pair returns the meanings of two words in sequence; the second may be a plural.
func (l language) pair(first, last []byte) ideas {
	last = bytes.TrimSuffix(last, []byte("s"))
	if !l.ends[string(last)] || len(first)+len(last) >= maxWord {
		return 0
	}
	var joined [maxWord]byte
	return l.pairs[string(append(append(append(joined[:0], first...), '_'), last...))]
}

// lookUp returns the meanings of a plain word in any of its forms. It does not shorten "users" and
// "conversations": users of a product are not the model's user, and its conversations are not the
// model's.
func lookUp(words map[string]ideas, w []byte) ideas {
	found := words[string(w)]
	if len(w) < 4 || len(w) > 24 || found != 0 || string(w) == "users" || string(w) == "conversations" {
		return found
	}
	switch {
	case ends(w, "ies"):
		return words[string(w[:len(w)-3])+"y"]
	case ends(w, "es"):
		found = words[string(w[:len(w)-1])]
		if stem := w[:len(w)-2]; found == 0 && bytes.ContainsRune([]byte("shxzo"), rune(stem[len(stem)-1])) {
			found = words[string(stem)] // "passes" is a form of "pass", but "notes" is not one of "not"
		}
	case ends(w, "s"):
		found = words[string(w[:len(w)-1])]
	case ends(w, "ied"):
		return words[string(w[:len(w)-3])+"y"]
	case ends(w, "ed"):
		found = stem(words, w[:len(w)-2])
	case ends(w, "ing"):
		found = stem(words, w[:len(w)-3])
	}
	return found
}

// stem looks up a word without its ending. It also tries letters that the ending may have removed
// or doubled.
func stem(words map[string]ideas, w []byte) ideas {
	if found := words[string(w)]; found != 0 {
		return found
	}
	if found := words[string(w)+"e"]; found != 0 {
		return found
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] {
		return words[string(w[:n-1])]
	}
	return 0
}

func ends(w []byte, ending string) bool {
	return len(w) > len(ending) && string(w[len(w)-len(ending):]) == ending
}

// isSimple reports whether a tool's name suggests that the tool only computes.
func isSimple(name string) bool {
	if strings.EqualFold(name, "add") {
		return true
	}
	for _, part := range strings.FieldsFunc(splitCamel(cut(name, maxWord)), func(r rune) bool { return r == '_' || r == '-' || r == ' ' || r == '.' }) {
		if simple[strings.ToLower(part)] {
			return true
		}
	}
	return false
}
