package toolsearch

import "strings"

// synonymGroups are words that people and tools use for the same thing; one
// group a line. They are general English and general computing: no product has a place here.
const synonymGroups = `
get fetch retrieve read obtain
show view display
list enumerate
search find query lookup locate discover
create add make new generate
write save store
delete remove erase clear drop
update edit modify change alter
rename move relocate
copy duplicate clone
send post publish submit
run execute launch start invoke
stop cancel terminate halt kill
open load
close shut
convert transform translate
compare diff difference
merge combine join
download pull
upload push
calculate compute math
analyze inspect examine analysis
check verify validate
schedule plan arrange
buy purchase shop order
sell sale
cheap discount deal bargain
price cost
explain describe
summarize summary condense
recommend suggest recommendation suggestion
learn study education teach
draw sketch paint
image picture photo photograph
video movie film clip
music song audio sound
file document
folder directory
page website site webpage
web internet online
link url address
text content
message chat conversation
mail email
note memo
task todo
issue bug ticket problem
repository repo
branch fork
user account person member people
team group
company business firm organization
job career employment
money finance currency
stock share equity
trip travel journey vacation
hotel accommodation lodging
flight airline plane
restaurant dining eat
food meal recipe cook
health medical medicine doctor
house home property estate
car vehicle automobile
place location spot
map geography
weather forecast climate temperature
date day calendar
event appointment meeting
news headline article
book novel
paper research academic scholarly
game play
law legal lawyer
number count amount
size length
statistics metric stats
chart graph plot diagram
table row record
database db sql
error exception failure
log history
setting configuration config preference option
password secret credential key
metadata info information detail
tag label
comment reply remark
`

// synonyms are the other stems of the groups that a stem is in.
type synonyms map[string][]string

func newSynonyms() synonyms {
	out := make(synonyms)
	for line := range strings.Lines(synonymGroups) {
		words := strings.Fields(line)
		for i := range words {
			words[i] = stemOf(words[i])
		}
		for _, w := range words {
			for _, o := range words {
				if o != w {
					out[w] = append(out[w], o)
				}
			}
		}
	}
	return out
}
