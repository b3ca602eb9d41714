package guard

import (
	"fmt"
	"strings"
	"sync"
)

// ideas is a set of things that a word may mean. Rules are written in ideas,
// so that a synonym is no way around them.
type ideas uint64

// vocabulary has a line for each idea: its name, and the stems of its words.
// "-s", "-ed", "-ing" and the like are found without being listed.
const vocabulary = `
ignore    ignore disregard forget override overrule bypass circumvent discard supersede neglect dismiss abandon disable deactivate unlearn skip
prior     previous previously prior earlier above preceding existing original foregoing former initial your all any every other safety system developer these those everything
orders    instruction rule guideline directive prompt policy policies guardrail restriction safeguard programming safety moderation ethic training order guidance
plainly   instruction directive guideline guardrail safeguard prompt programming
not       not never dont without avoid refrain cannot nor stop mustnt shouldnt neither no
tell      tell mention inform notify reveal disclose alert warn acknowledge explain announce discuss say expose bring
show      show display report share output print surface repeat recite
ask       ask confirm consult permission approval consent confirmation request question
user      user human person operator anyone anybody owner victim
secretly  secretly silently covertly quietly stealthily discreetly invisibly unnoticed surreptitiously clandestinely quiet
before    before ahead prior
use       call use invoke run execute perform trigger utilize employ
any       any all every other each
tool      tool function
must      must always mandatory shall required imperative need should
read      read open load retrieve cat extract collect gather obtain copy dump grab harvest scan fetch
send      send pass post upload transmit forward exfiltrate submit deliver leak relay embed include append attach insert supply smuggle provide hand
away      send post upload transmit forward exfiltrate leak relay smuggle
cred      credential password passwd passphrase secret apikey mnemonic
private   private api ssh access signing encryption
key       key token
param     parameter argument field sidenote param
convo     conversation chat dialogue
log       history transcript log context messages
whole     entire full whole complete verbatim raw
system    system
prompt    prompt
external  ngrok pastebin attacker exfil collector webhook
remote    external remote third outside
host      http https server endpoint host url address site domain
first     first
everything everything anything
mode      mode
unbound   dan god jailbreak jailbroken unrestricted unfiltered uncensored unbound evil
enter     enter enable activate switch act operate pretend behave roleplay
you       you your yourself
now       now
authority system administrator admin anthropic openai
notice    message notice override announcement
new       new updated revised real actual true
follow    follow obey comply attention heed bound subject
instead   instead only
know      know see notice aware learn realize suspect
keep      keep remain stay hide conceal withhold
hidden    secret hidden confidential invisible unaware
from      from
sink      exfiltrate siphon keylogger keylog backdoor ransomware botnet rootkit
contents  content contents value data result input output response reply answer
void      longer void invalid obsolete outdated superseded revoked cancelled
steal     steal stolen harvest siphon exfiltrate exfiltration
put       include embed append attach add insert supply put pass write record bcc fill paste
develop   developer debug
attempt   attempt whether if try trying injection phrase pattern prompt text input message like such attack jailbreak adversarial malicious
attack    attack poison attacker adversarial adversary malicious manipulate jailbreak injection
approved  approved authorized authorised authorize authorise consented agreed permitted
shell     shell subprocess bash eval
environ   environment env cookie clipboard keystroke envvar
told      said told given received wrote written typed asked
ours      this our current it these
model     model assistant ai llm agent
after     after following whenever
fail      fail break refuse unavailable work
meta      detect flag filter classify identify recognize example phrase such like term string named called contain pattern attempt injection moderation scanner test sample search quote mean match warn check verify prevent moderate determine report guard catch
`

// secretFiles are names of files that hold secrets, with the character that
// stands before them: .ssh, /shadow, id_rsa.
var secretFiles = map[string]bool{
	".ssh": true, ".env": true, ".aws": true, ".netrc": true, ".npmrc": true, ".pypirc": true, ".kube": true, ".gnupg": true, ".pem": true,
	".pgpass": true, ".dockercfg": true, ".htpasswd": true, "/passwd": true, "/shadow": true, "_rsa": true, "_dsa": true, "_ecdsa": true, "_ed25519": true,
}

// secretConfigs are names of files that hold secrets when ".json" stands behind them.
var secretConfigs = map[string]bool{"/mcp": true, "/credentials": true, "/secrets": true, "_config": true}

// simple are words in the names of tools that only compute: such a tool has no
// business with files, keys or other machines.
var simple = map[string]bool{
	"sum": true, "subtract": true, "multiply": true, "divide": true, "calculate": true, "calculator": true, "calc": true, "math": true,
	"arithmetic": true, "average": true, "reverse": true, "uppercase": true, "lowercase": true, "capitalize": true, "string": true, "strings": true,
	"concat": true, "slugify": true, "palindrome": true, "factorial": true, "fibonacci": true, "prime": true, "uuid": true, "random": true, "dice": true,
	"joke": true, "greet": true, "greeting": true, "hello": true, "echo": true, "format": true, "unit": true, "units": true, "temperature": true,
	"celsius": true, "color": true, "count": true, "length": true, "sort": true, "trim": true, "numbers": true, "weather": true, "fact": true,
}

// compounds are words before which "user" is no person: the user interface.
var compounds = map[string]bool{
	"interface": true, "interfaces": true, "menu": true, "group": true, "groups": true, "agent": true, "id": true, "ids": true, "account": true, "accounts": true,
	"manual": true, "guide": true, "name": true, "names": true, "profile": true, "profiles": true, "role": true, "roles": true, "input": true, "data": true, "table": true,
	"experience": true, "record": true, "records": true, "session": true, "sessions": true, "settings": true, "story": true, "stories": true, "permissions": true, "error": true, "errors": true,
}

// harmless are the neighbours of such files, which hold nothing secret.
var harmless = []string{"/config", "/authorized", "/known_hosts", ".pub", ".example", ".sample", ".template"}

// words and names that the rest is written with.
type language struct {
	names map[string]ideas // name of an idea
	words map[string]ideas // stem of a word
}

// theLanguage reads the vocabulary at its first use.
var theLanguage = sync.OnceValue(func() language {
	l := language{names: map[string]ideas{}, words: map[string]ideas{}}
	bit := ideas(1)
	for line := range strings.Lines(vocabulary) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		l.names[fields[0]] = bit
		for _, w := range fields[1:] {
			l.words[w] |= bit
		}
		bit <<= 1
	}
	l.names["secretfile"] = bit
	if bit == 0 {
		panic(fmt.Sprintf("guard: more ideas than %d", 64))
	}
	return l
})

// lookUp returns what a plain word may mean, in any of its forms. The users of
// a product are not the user of the model.
func lookUp(words map[string]ideas, w []byte) ideas {
	found := words[string(w)]
	if len(w) < 4 || len(w) > 24 || found != 0 || string(w) == "users" {
		return found
	}
	switch {
	case ends(w, "ies"):
		return words[string(w[:len(w)-3])+"y"]
	case ends(w, "es"):
		if found = words[string(w[:len(w)-1])]; found == 0 {
			found = words[string(w[:len(w)-2])]
		}
	case ends(w, "s"):
		found = words[string(w[:len(w)-1])]
	case ends(w, "ed"):
		found = stem(words, w[:len(w)-2])
	case ends(w, "ing"):
		found = stem(words, w[:len(w)-3])
	}
	return found
}

// stem looks a word up whose ending was taken off, with the letters that the
// ending may have cost or doubled.
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

// secretFile returns the idea of a file that holds secrets, if the text has the
// name of one from start to end.
func secretFile(text string, start, end int) ideas {
	if start == 0 || end-start > maxWord {
		return 0
	}
	if name := strings.ToLower(text[start-1 : end]); !secretFiles[name] && (!secretConfigs[name] || !strings.HasPrefix(text[end:], ".json")) {
		return 0
	}
	for _, name := range harmless {
		if text[start:end] != "kube" && strings.HasPrefix(text[end:], name) {
			return 0
		}
	}
	return theLanguage().names["secretfile"]
}

// isSimple reports whether the name of a tool says that it only computes.
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
