package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// carryConditions carries over which changes count.
func (w cdWatch) carryConditions() {
	if list := w.all("trigger_text", ""); len(list) > 0 {
		w.only("text.matches(" + inJSON(alternatives(list)) + ")")
	}
	if list := w.all("text_should_not_be_present", ""); len(list) > 0 {
		w.only("!text.matches(" + inJSON(alternatives(list)) + ")")
	}
	w.carryParts()
	if w.text("processor") == "restock_diff" {
		w.carryRestock()
	} else if processor := w.text("processor"); processor != "" && processor != "text_json_diff" && processor != pictureProcessor {
		w.lost("processor "+processor, "the text is compared")
	}
	var conditions []string
	for _, one := range w.effective("conditions").list("conditions") {
		c := objectOf(one)
		if c.text("field") == "" || c.text("operator") == "" {
			continue
		}
		condition, nearest := w.condition(c.text("field"), c.text("operator"), c.text("value"))
		if condition == "" {
			w.lost(fmt.Sprintf("the condition %s %s %s", c.text("field"), c.text("operator"), c.text("value")), nearest)
			continue
		}
		conditions = append(conditions, condition)
	}
	if len(conditions) == 0 {
		return
	}
	if strings.EqualFold(w.text("conditions_match_logic"), "ANY") {
		w.only("(" + strings.Join(conditions, " || ") + ")")
	} else {
		w.only(strings.Join(conditions, " && "))
	}
}

// carryParts carries over that only added, removed or replaced lines count.
func (w cdWatch) carryParts() {
	var counted []string
	for _, part := range []struct{ key, condition string }{
		{"filter_text_added", "size(added) > 0"}, {"filter_text_removed", "size(removed) > 0"}, {"filter_text_replaced", "(size(added) > 0 && size(removed) > 0)"},
	} {
		if !w.off(part.key) {
			counted = append(counted, part.condition)
		}
	}
	if len(counted) > 0 && len(counted) < 3 {
		w.only("(" + strings.Join(counted, " || ") + ")")
	}
}

// restockKey is the key of the settings for offers, which have a file of their own in the folder of a watch.
const restockKey = "processor_config_restock_diff"

// carryRestock carries over what of an offer is watched: whether it can be bought, and its price.
func (w cdWatch) carryRestock() {
	s := w.object
	for _, key := range []string{"restock_settings", restockKey} { // the first is its former name
		if settings := w.effective(key).object(key); settings != nil {
			s = settings
		}
	}
	price := map[string]any{"product": "price", "as": "number"}
	for _, selector := range w.texts("price_change_custom_include_filters") {
		how, arg := selectorOf(selector)
		price = map[string]any{how: arg, "as": "number"}
	}
	w.Source.Extract = map[string]any{"price": price, "availability": map[string]any{"product": "availability"}}
	var counted []string
	switch mode := s.text("in_stock_processing"); {
	case mode == "off":
	case mode == "all_changes" || mode == "" && s.off("in_stock_only"):
		counted = append(counted, "now.availability != before.availability")
	default:
		counted = append(counted, `(now.availability == "in stock" && before.availability != "in stock")`)
	}
	if !s.off("follow_price_changes") {
		price := "now.price != before.price"
		least, most := s.text("price_change_min"), s.text("price_change_max")
		switch {
		case least != "" && most != "":
			price += fmt.Sprintf(" && (now.price < %s || now.price > %s)", least, most)
		case least != "":
			price += " && now.price < " + least
		case most != "":
			price += " && now.price > " + most
		}
		if percent := s.text("price_change_threshold_percent"); percent != "" && percent != "0" {
			price += " && math.abs(percent(before.price, now.price)) >= " + percent
		}
		counted = append(counted, "("+price+")")
	}
	if len(counted) > 0 {
		w.only("(" + strings.Join(counted, " || ") + ")")
	}
}

// textConditions are the operators on a text: a method, and what stands before and after the value,
// which is a pattern or is quoted in one.
var textConditions = map[string]struct {
	method, before, after string
	quoted                bool
}{
	"in": {method: "contains"}, "contains": {method: "contains"}, "contains_regex": {method: "matches"}, "starts_with": {method: "startsWith"},
	"ends_with": {"matches", "", `\s*\z`, true}, "==": {"matches", `\A\s*`, `\s*\z`, true},
}

// condition returns a condition in CEL, or "" and what is nearest to it.
func (w cdWatch) condition(field, operator, value string) (condition, nearest string) {
	comparisons := map[string]string{"length_min": ">=", "length_max": "<="}
	_, err := strconv.ParseFloat(value, 64)
	isNumber := err == nil
	switch field {
	case "page_filtered_text", "page_text":
		if c := comparisons[operator]; c != "" && isNumber {
			return "size(text) " + c + " " + value, ""
		}
		positive := strings.TrimPrefix(strings.TrimPrefix(operator, "not_"), "!")
		if operator == "!=" {
			positive = "=="
		}
		t, ok := textConditions[positive]
		if !ok {
			break
		}
		if t.quoted {
			value = regexp.QuoteMeta(value)
		}
		not := ""
		if positive != operator {
			not = "!"
		}
		return not + "text." + t.method + "(" + inJSON(t.before+value+t.after) + ")", ""
	case "extracted_number":
		if isNumber && slices.Contains([]string{">", "<", ">=", "<=", "==", "!="}, operator) {
			read := append(append([]any{}, w.Source.Read...), map[string]any{"regex": `[+-]?\d[\d.,]*`}, map[string]any{"lines": map[string]any{"head": 1}})
			w.extract("number", map[string]any{"read": read, "as": "number"})
			return "now.number " + operator + " " + value, ""
		}
	}
	return "", "freshet query add --when CONDITION reports only such changes; see its functions in queries.md"
}
