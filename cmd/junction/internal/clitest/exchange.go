package clitest

func ExchangeEntry(at string, more string) string {
	return `{"url":"` + at + `","oauth":{"clientId":"gateway","clientSecret":"${GATEWAY_SECRET}","grant":"token-exchange"` + more + `}}`
}
