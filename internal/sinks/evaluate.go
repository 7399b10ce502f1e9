package sinks

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"
)

// A run evaluates a template once, as package text/template does. That package finds methods
// by their names, which keeps the linker from dropping any method of the program, and makes
// it 7 MB larger; here the types of an event say which methods they have.
type run struct {
	trees     map[string]*parse.Tree
	tree      *parse.Tree // the one at work
	node      parse.Node  // in it, for errors
	variables []variable
	out       strings.Builder
	steps     int
}

type variable struct {
	name  string
	value any
}

// A failure is what is wrong with a template, or with what it is applied to. It unwinds the
// evaluation.
type failure struct{ err error }

var errBreak, errContinue = &failure{}, &failure{}

func (r *run) fail(format string, args ...any) {
	panic(&failure{&positioned{r.tree, r.node, fmt.Errorf(format, args...)}})
}

// positioned is an error at a node of a template.
type positioned struct {
	tree *parse.Tree
	node parse.Node
	err  error
}

// Error says where the error is, as package text/template does.
func (p *positioned) Error() string {
	location, what := p.tree.ErrorContext(p.node)
	return fmt.Sprintf("template: %s: at <%s>: %v", location, what, p.err)
}

// Unwrap returns the error without its place.
func (p *positioned) Unwrap() error { return p.err }

// execute evaluates the template of a name, and returns what it writes.
func (r *run) execute(name string, data any) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(*failure)
			if !ok {
				panic(p)
			}
			err = f.err
		}
	}()
	r.call(name, data)
	return r.out.String(), nil
}

// call evaluates a template in place. It sees none of the variables of its caller.
func (r *run) call(name string, dot any) {
	tree := r.trees[name]
	if tree == nil {
		r.fail("template %q not defined", name)
	}
	caller, variables := r.tree, r.variables
	r.tree, r.variables = tree, []variable{{"$", dot}}
	r.step()
	r.walk(dot, tree.Root)
	r.tree, r.variables = caller, variables
}

// step counts a round of a loop or a call.
func (r *run) step() {
	if r.steps++; r.steps > maxSteps {
		panic(&failure{errTooSlow})
	}
}

func (r *run) write(text string) {
	if r.out.Len()+len(text) > maxOutput {
		panic(&failure{errTooLong})
	}
	r.out.WriteString(text)
}

// walk evaluates a node for what it writes.
func (r *run) walk(dot any, node parse.Node) {
	r.node = node
	switch n := node.(type) {
	case *parse.ActionNode:
		if v := r.pipeline(dot, n.Pipe); len(n.Pipe.Decl) == 0 {
			r.node = n
			r.write(printed(v))
		}
	case *parse.BreakNode:
		panic(errBreak)
	case *parse.ContinueNode:
		panic(errContinue)
	case *parse.IfNode:
		r.branch(dot, &n.BranchNode)
	case *parse.WithNode:
		r.branch(dot, &n.BranchNode)
	case *parse.RangeNode:
		r.loop(dot, n)
	case *parse.ListNode:
		for _, inner := range n.Nodes {
			r.walk(dot, inner)
		}
	case *parse.TemplateNode:
		inner := r.pipeline(dot, n.Pipe)
		r.node = n
		r.call(n.Name, inner)
	case *parse.TextNode:
		r.write(string(n.Text))
	}
}

// printed returns the text of a value.
func printed(v any) string {
	if v == nil {
		return "<no value>"
	}
	return fmt.Sprint(target(v))
}

// target returns what a pointer leads to; nil if it leads nowhere.
func target(v any) any {
	if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer {
		if p.IsNil() {
			return nil
		}
		return target(p.Elem().Interface())
	}
	return v
}

func isTrue(v any) bool {
	truth, _ := template.IsTrue(v)
	return truth
}

// branch evaluates an if or a with.
func (r *run) branch(dot any, n *parse.BranchNode) {
	defer r.forget(len(r.variables))
	v := r.pipeline(dot, n.Pipe)
	switch {
	case !isTrue(v) && n.ElseList != nil:
		r.walk(dot, n.ElseList)
	case isTrue(v) && n.NodeType == parse.NodeWith:
		r.walk(v, n.List)
	case isTrue(v):
		r.walk(dot, n.List)
	}
}

func (r *run) forget(mark int) { r.variables = r.variables[:mark] }

// loop evaluates a range.
func (r *run) loop(dot any, n *parse.RangeNode) {
	defer r.forget(len(r.variables))
	defer func() {
		if p := recover(); p != nil && p != errBreak {
			panic(p)
		}
	}()
	over := r.pipeline(dot, n.Pipe)
	r.node = n
	list := reflect.ValueOf(target(over))
	rounds := 0
	round := func(key, element any) {
		rounds++
		r.round(n, key, element)
	}
	switch {
	case over == nil:
	case list.CanInt():
		if len(n.Pipe.Decl) > 1 {
			r.fail("can't use %v to iterate over more than one variable", over)
		}
		for i := range list.Int() {
			round(nil, reflect.ValueOf(i).Convert(list.Type()).Interface())
		}
	case list.Kind() == reflect.Slice || list.Kind() == reflect.Array:
		for i := range list.Len() {
			round(i, list.Index(i).Interface())
		}
	case list.Kind() == reflect.Map:
		keys := list.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		for _, key := range keys {
			round(key.Interface(), list.MapIndex(key).Interface())
		}
	default:
		r.fail("range can't iterate over %v", over)
	}
	if rounds == 0 && n.ElseList != nil {
		r.walk(dot, n.ElseList)
	}
}

func (r *run) round(n *parse.RangeNode, key, element any) {
	defer r.forget(len(r.variables))
	defer func() {
		if p := recover(); p != nil && p != errContinue {
			panic(p)
		}
	}()
	values := []any{element}
	if len(n.Pipe.Decl) > 1 {
		values = []any{key, element}
	}
	for i, v := range n.Pipe.Decl {
		r.set(v.Ident[0], values[i])
	}
	r.step()
	r.walk(element, n.List)
}

// set gives a variable another value.
func (r *run) set(name string, value any) {
	for i, v := range slices.Backward(r.variables) {
		if v.name == name {
			r.variables[i].value = value
			return
		}
	}
	r.fail("undefined variable: %s", name)
}

// pipeline returns the value of a pipeline, and declares its variables.
func (r *run) pipeline(dot any, pipe *parse.PipeNode) (value any) {
	if pipe == nil {
		return nil
	}
	for i, command := range pipe.Cmds {
		var final []any
		if i > 0 {
			final = []any{value}
		}
		value = r.command(dot, command.Args, final)
	}
	for _, v := range pipe.Decl {
		if pipe.IsAssign {
			r.set(v.Ident[0], value)
		} else {
			r.variables = append(r.variables, variable{v.Ident[0], value})
		}
	}
	return value
}

// command returns the value of a command: a function or a method with its arguments, or one
// operand. Final is what stands before it in the pipeline.
func (r *run) command(dot any, args []parse.Node, final []any) any {
	r.node = args[0]
	switch n := args[0].(type) {
	case *parse.FieldNode:
		return r.fields(dot, dot, n.Ident, args, final)
	case *parse.ChainNode:
		return r.fields(dot, r.command(dot, []parse.Node{n.Node}, nil), n.Field, args, final)
	case *parse.VariableNode:
		if len(n.Ident) > 1 {
			return r.fields(dot, r.variable(n.Ident[0]), n.Ident[1:], args, final)
		}
	case *parse.IdentifierNode:
		return r.function(dot, n.Ident, args, final)
	}
	if len(args) > 1 || len(final) > 0 {
		r.fail("can't give argument to non-function %s", args[0])
	}
	switch n := args[0].(type) {
	case *parse.VariableNode:
		return r.variable(n.Ident[0])
	case *parse.PipeNode:
		return r.pipeline(dot, n)
	case *parse.BoolNode:
		return n.True
	case *parse.DotNode:
		return dot
	case *parse.StringNode:
		return n.Text
	case *parse.NumberNode:
		return r.number(n)
	}
	r.fail("%s is not a command", args[0])
	return nil
}

func (r *run) variable(name string) any {
	for _, v := range slices.Backward(r.variables) {
		if v.name == name {
			return v.value
		}
	}
	r.fail("undefined variable: %s", name)
	return nil
}

// number returns the value of a constant where nothing says of which type it is.
func (r *run) number(n *parse.NumberNode) any {
	switch {
	case n.IsInt && !strings.ContainsAny(n.Text, ".eEpP"), n.IsInt && strings.HasPrefix(strings.ToLower(n.Text), "0x"), n.IsInt && n.Text[0] == '\'':
		return int(n.Int64)
	case n.IsFloat:
		return n.Float64
	}
	r.fail("%s overflows int", n.Text)
	return nil
}

// fields follows names from a value; the arguments are those of the last.
func (r *run) fields(dot, v any, names []string, args []parse.Node, final []any) any {
	node := r.node
	for i, name := range names {
		r.node = node
		if i < len(names)-1 {
			v = r.field(dot, v, name, nil, nil)
		} else {
			v = r.field(dot, v, name, args, final)
		}
	}
	return v
}

// field returns the result of a method, the field of a struct or the element of a map.
func (r *run) field(dot, of any, name string, args []parse.Node, final []any) any {
	if of == nil {
		r.fail("nil data; no entry for key %q", name)
	}
	if m, ok := methodsOf(of)[name]; ok {
		return r.invoke(dot, m, name, args, final)
	}
	v := reflect.Indirect(reflect.ValueOf(of))
	var found reflect.Value
	switch {
	case !v.IsValid():
		r.fail("nil pointer evaluating %T.%s", of, name)
	case v.Kind() == reflect.Struct:
		if f, ok := v.Type().FieldByName(name); ok && f.IsExported() {
			found = v.FieldByIndex(f.Index)
		}
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		if found = v.MapIndex(reflect.ValueOf(name).Convert(v.Type().Key())); !found.IsValid() {
			r.fail("map has no entry for key %q", name)
		}
	}
	if !found.IsValid() {
		panic(&failure{&positioned{r.tree, r.node, &noFieldError{name, of}}})
	}
	if len(args) > 1 || len(final) > 0 {
		r.fail("%s is not a method but has arguments", name)
	}
	return found.Interface()
}

// A noFieldError says that a value has no field or method of a name.
type noFieldError struct {
	name string
	of   any
}

// Error says so.
func (e *noFieldError) Error() string {
	return fmt.Sprintf("can't evaluate field %s in type %T", e.name, e.of)
}

// methodsOf returns the methods that templates can call on a value.
func methodsOf(v any) map[string]any {
	switch v := v.(type) {
	case *Event:
		return map[string]any{
			"AckLink": v.AckLink, "Added": v.Added, "Beyond": v.Beyond, "Diff": v.Diff, "DiffLink": v.DiffLink, "Foot": v.Foot, "Heading": v.Heading, "HTML": v.HTML, "News": v.News, "Removed": v.Removed,
			"StopLink": v.StopLink, "Text": v.Text, "Top": v.Top, "ValueText": v.ValueText, "What": v.What, "Why": v.Why,
		}
	case time.Time:
		return map[string]any{
			"Add": v.Add, "AddDate": v.AddDate, "After": v.After, "Before": v.Before, "Compare": v.Compare, "Day": v.Day, "Equal": v.Equal,
			"Format": v.Format, "Hour": v.Hour, "IsZero": v.IsZero, "Local": v.Local, "Minute": v.Minute, "Month": v.Month, "Nanosecond": v.Nanosecond,
			"Round": v.Round, "Second": v.Second, "String": v.String, "Sub": v.Sub, "Truncate": v.Truncate, "UTC": v.UTC, "Unix": v.Unix,
			"UnixMicro": v.UnixMicro, "UnixMilli": v.UnixMilli, "UnixNano": v.UnixNano, "Weekday": v.Weekday, "Year": v.Year, "YearDay": v.YearDay,
		}
	case time.Duration:
		return map[string]any{"Hours": v.Hours, "Milliseconds": v.Milliseconds, "Minutes": v.Minutes, "Round": v.Round, "Seconds": v.Seconds, "String": v.String, "Truncate": v.Truncate}
	case fmt.Stringer:
		return map[string]any{"String": v.String}
	}
	return nil
}

// function returns the result of a function. And and or evaluate no more than they need.
func (r *run) function(dot any, name string, args []parse.Node, final []any) any {
	if name != "and" && name != "or" {
		return r.invoke(dot, functions[name], name, args, final)
	}
	var v any
	if len(args) == 1 && len(final) == 0 {
		r.fail("wrong number of args for %s: want at least 1 got 0", name)
	}
	for _, arg := range args[1:] {
		if v = r.command(dot, []parse.Node{arg}, nil); isTrue(v) == (name == "or") {
			return v
		}
	}
	if len(final) > 0 {
		v = final[0]
	}
	return v
}

// invoke calls a Go function with the arguments that follow its name, and with final.
func (r *run) invoke(dot, function any, name string, args []parse.Node, final []any) any {
	node := r.node
	f := reflect.ValueOf(function)
	t := f.Type()
	if len(args) > 0 {
		args = args[1:]
	}
	given, want := len(args)+len(final), t.NumIn()
	if t.IsVariadic() && given < want-1 {
		r.fail("wrong number of args for %s: want at least %d got %d", name, want-1, given)
	} else if !t.IsVariadic() && given != want {
		r.fail("wrong number of args for %s: want %d got %d", name, want, given)
	}
	typeOf := func(i int) reflect.Type {
		if t.IsVariadic() && i >= want-1 {
			return t.In(want - 1).Elem()
		}
		return t.In(i)
	}
	var values []reflect.Value
	for i, arg := range args {
		values = append(values, r.argument(dot, arg, typeOf(i)))
	}
	for _, v := range final {
		values = append(values, r.convert(v, typeOf(len(values))))
	}
	r.node = node
	results := f.Call(values)
	if len(results) == 2 && !results[1].IsNil() {
		r.fail("error calling %s: %w", name, results[1].Interface().(error))
	}
	return results[0].Interface()
}

// argument returns the value of an operand as a function takes it.
func (r *run) argument(dot any, arg parse.Node, t reflect.Type) reflect.Value {
	r.node = arg
	switch n := arg.(type) {
	case *parse.NilNode:
		return r.convert(nil, t)
	case *parse.NumberNode: // of the type that is asked for
		v := reflect.New(t).Elem()
		switch {
		case v.CanInt() && n.IsInt:
			v.SetInt(n.Int64)
			return v
		case v.CanFloat() && n.IsFloat:
			v.SetFloat(n.Float64)
			return v
		}
	}
	return r.convert(r.command(dot, []parse.Node{arg}, nil), t)
}

// convert returns a value as one of a type.
func (r *run) convert(v any, t reflect.Type) reflect.Value {
	value := reflect.ValueOf(v)
	switch {
	case !value.IsValid() && (t.Kind() == reflect.Interface || t.Kind() == reflect.Slice):
		return reflect.Zero(t)
	case !value.IsValid():
		r.fail("invalid value; expected %s", t)
	case value.Type().AssignableTo(t):
		return value
	case value.Kind() == reflect.Pointer && !value.IsNil() && value.Type().Elem().AssignableTo(t):
		return value.Elem()
	}
	r.fail("wrong type for value; expected %s; got %T", t, v)
	return value
}

func length(v any) (int, error) {
	list := reflect.ValueOf(target(v))
	switch list.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return list.Len(), nil
	}
	return 0, fmt.Errorf("len of type %T", v)
}

// place returns an index into a list of a length.
func place(v any, most int) (int, error) {
	n := reflect.ValueOf(v)
	if !n.CanInt() {
		return 0, fmt.Errorf("cannot index slice/array with type %T", v)
	}
	if n.Int() < 0 || n.Int() > int64(most) {
		return 0, fmt.Errorf("index out of range: %d", n.Int())
	}
	return int(n.Int()), nil
}

func index(v any, keys ...any) (any, error) {
	for _, key := range keys {
		in := reflect.ValueOf(target(v))
		switch in.Kind() {
		case reflect.Array, reflect.Slice, reflect.String:
			i, err := place(key, in.Len()-1)
			if err != nil {
				return nil, err
			}
			v = in.Index(i).Interface()
		case reflect.Map:
			k := reflect.ValueOf(key)
			if !k.IsValid() || !k.CanConvert(in.Type().Key()) || k.Kind() != in.Type().Key().Kind() {
				return nil, fmt.Errorf("value has type %T; should be %s", key, in.Type().Key())
			}
			if found := in.MapIndex(k.Convert(in.Type().Key())); found.IsValid() {
				v = found.Interface()
			} else {
				v = reflect.Zero(in.Type().Elem()).Interface()
			}
		default:
			return nil, fmt.Errorf("can't index item of type %T", v)
		}
	}
	if v == nil && len(keys) == 0 {
		return nil, errors.New("index of untyped nil")
	}
	return v, nil
}

func slice(v any, bounds ...any) (any, error) {
	in := reflect.ValueOf(target(v))
	switch {
	case len(bounds) > 2:
		return nil, fmt.Errorf("too many slice indexes: %d", len(bounds))
	case in.Kind() != reflect.Slice && in.Kind() != reflect.String:
		return nil, fmt.Errorf("can't slice item of type %T", v)
	}
	at := [2]int{0, in.Len()}
	for i, bound := range bounds {
		var err error
		if at[i], err = place(bound, in.Len()); err != nil {
			return nil, err
		}
	}
	if at[0] > at[1] {
		return nil, fmt.Errorf("invalid slice index: %d > %d", at[0], at[1])
	}
	return in.Slice(at[0], at[1]).Interface(), nil
}

var (
	errNoComparison  = errors.New("missing argument for comparison")
	errBadComparison = errors.New("invalid type for comparison")
)

// equal reports whether a value equals one of others.
func equal(a any, others ...any) (bool, error) {
	if len(others) == 0 {
		return false, errNoComparison
	}
	for _, b := range others {
		c, err := compare(a, b)
		if errors.Is(err, errBadComparison) { // they have no order
			switch va, vb := reflect.ValueOf(a), reflect.ValueOf(b); {
			case !va.IsValid() || !vb.IsValid():
				c, err = 1, nil
				if isNil(va) && isNil(vb) {
					c = 0
				}
			case va.Kind() == vb.Kind() && va.Comparable() && vb.Comparable():
				c, err = 1, nil
				if a == b || va.Kind() == reflect.Bool && va.Bool() == vb.Bool() {
					c = 0
				}
			}
		}
		if err != nil || c == 0 {
			return err == nil, err
		}
	}
	return false, nil
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice:
		return v.IsNil()
	}
	return false
}

// compare returns the order of two numbers or two texts.
func compare(a, b any) (int, error) {
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case va.CanInt() && vb.CanInt():
		return cmp.Compare(va.Int(), vb.Int()), nil
	case va.CanFloat() && vb.CanFloat():
		if math.IsNaN(va.Float()) || math.IsNaN(vb.Float()) {
			return 1, nil
		}
		return cmp.Compare(va.Float(), vb.Float()), nil
	case va.Kind() == reflect.String && vb.Kind() == reflect.String:
		return cmp.Compare(va.String(), vb.String()), nil
	case va.IsValid() && vb.IsValid() && va.Kind() != vb.Kind():
		return 0, fmt.Errorf("incompatible types for comparison: %T and %T", a, b)
	}
	return 0, errBadComparison
}
