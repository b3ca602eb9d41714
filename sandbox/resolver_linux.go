package sandbox

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// names gives each host name that a program may resolve an address of its own, by which a connection to it is known again.
type names struct {
	allowed hosts
	refuse  func(Refusal)
	first   netip.Addr // that is given

	mu        sync.Mutex
	addresses map[string]netip.Addr
	byAddress map[netip.Addr]string
}

// firstName is the first address that is given to a name. It is one of the internet, as only such are connected to for a name: programs look at
// what a name resolves to, and reach nothing that is loopback or private. No host that anybody calls has it: its network is of those of the
// United States' Department of Defense that are not routed.
var firstName = netip.MustParseAddr("22.64.0.1")

func newNames(allowed hosts, refuse func(Refusal)) *names {
	return &names{allowed: allowed, refuse: refuse, first: firstName, addresses: map[string]netip.Addr{}, byAddress: map[netip.Addr]string{}}
}

// address returns the address of a name; ok is false where there are too many.
func (n *names) address(name string) (_ netip.Addr, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, known := n.addresses[name]; known {
		return a, true
	}
	if len(n.addresses) >= maxNames {
		return netip.Addr{}, false
	}
	last := n.first.As4()
	count := len(n.addresses) + 1
	last[2], last[3] = byte(count>>8), byte(count)
	a := netip.AddrFrom4(last)
	n.addresses[name], n.byAddress[a] = a, name
	return a, true
}

// name returns the name that an address was given to, or "".
func (n *names) name(a netip.Addr) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.byAddress[a]
}

// maxQuestion is the size of a question without extensions that anybody asks.
const maxQuestion = 1232

// answer answers a question of the program's resolver; nil where it is none. What it asks for leaves the machine
// in no case: it is resolved again, outside, when the program connects.
func (n *names) answer(question []byte) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(question)
	if err != nil || header.Response || header.OpCode != 0 {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	code := dnsmessage.RCodeSuccess
	var address netip.Addr
	switch _, err := netip.ParseAddr(name); {
	case err == nil || len(name) > 253 || !hostName.MatchString(name): // as a host of the profile it would be something else, such as *.example.com
		code = dnsmessage.RCodeNameError
		n.refuse(Refusal{What: "look up " + quoted(name), Reason: "it is no host name"})
	case name == "localhost":
		address = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	case !n.allowed.hasName(name):
		code = dnsmessage.RCodeNameError
		n.refuse(Refusal{What: "look up " + quoted(name), Reason: "it is not among the hosts of the profile", Allow: []string{"--host", name}})
	default:
		var ok bool
		if address, ok = n.address(name); !ok {
			code = dnsmessage.RCodeServerFailure
			n.refuse(Refusal{What: "look up " + quoted(name), Reason: fmt.Sprintf("the program asked for %d others before", maxNames)})
		}
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: header.ID, Response: true, RecursionDesired: header.RecursionDesired, RecursionAvailable: true, RCode: code})
	b.EnableCompression()
	if b.StartQuestions() != nil || b.Question(q) != nil || b.StartAnswers() != nil {
		return nil
	}
	if address.IsValid() && q.Class == dnsmessage.ClassINET && (q.Type == dnsmessage.TypeA || q.Type == dnsmessage.TypeALL) {
		if b.AResource(dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60}, dnsmessage.AResource{A: address.As4()}) != nil {
			return nil
		}
	}
	message, err := b.Finish()
	if err != nil {
		return nil
	}
	return message
}
