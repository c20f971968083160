//! The grammar of eval expressions, by precedence from lowest to highest: XOR, OR, AND, NOT, comparisons,
//! `+ - .`, `* / %`, signs.
//!
//! Guarantees: backslashes in texts are resolved; trees are at most [`MAX_CHAIN`] deep along one
//! operator chain; AND and OR are balanced, as their order does not matter.

use super::{Parsed, Parser, typing};
use crate::ast::{BinaryOperator, Call, Expr, ExprKind, FieldRef, Spanned, UnaryOperator};
use crate::diagnostic::shorten;
use crate::functions;
use crate::suggest::nearest;

/// Maximum number of consecutive operators of one precedence, such as `a + b + c`.
const MAX_CHAIN: usize = 500;

impl Parser<'_> {
    /// Reads a complete expression.
    pub(crate) fn expr(&mut self) -> Parsed<Expr> {
        self.enter(|p| p.associative("XOR", BinaryOperator::Xor, Self::expr_or))
    }

    fn expr_or(&mut self) -> Parsed<Expr> {
        self.associative("OR", BinaryOperator::Or, Self::expr_and)
    }

    fn expr_and(&mut self) -> Parsed<Expr> {
        self.associative("AND", BinaryOperator::And, Self::expr_not)
    }

    fn associative(
        &mut self,
        keyword: &str,
        operator: BinaryOperator,
        operand: fn(&mut Self) -> Parsed<Expr>,
    ) -> Parsed<Expr> {
        let mut operands = Vec::new();
        loop {
            flatten(operand(self)?, operator, &mut operands);
            if !self.eat_keyword(keyword) {
                return Ok(balanced(operands, operator));
            }
        }
    }

    fn expr_not(&mut self) -> Parsed<Expr> {
        self.skip_space();
        let start = self.pos();
        let is_call =
            |p: &mut Self| p.attempt(|p| (p.eat_keyword("NOT") && p.eat("=")).then_some(()));
        if !self.at_keyword("NOT") || is_call(self).is_some() {
            return self.expr_comparison();
        }
        self.eat_keyword("NOT");
        let inner = self.enter(Self::expr_not)?;
        let span = self.span_from(start);
        Ok(Expr { kind: ExprKind::Unary(UnaryOperator::Not, Box::new(inner)), span })
    }

    fn expr_comparison(&mut self) -> Parsed<Expr> {
        let left = self.expr_sum()?;
        if let Some(operator) = self.comparison_operator() {
            let right = self.expr_sum()?;
            return self.typed_binary(BinaryOperator::Compare(operator), left, right);
        }
        let start = self.pos();
        let negated = self.eat_keyword("NOT");
        if self.eat_keyword("LIKE") {
            let right = self.expr_sum()?;
            let like = binary(BinaryOperator::Like, left, right);
            return Ok(if negated { not(like) } else { like });
        }
        if self.eat_keyword("IN") {
            self.expect("(", "after IN")?;
            let list = self.call_arguments("IN")?;
            let span = left.span.to(self.span_from(start));
            if list.is_empty() {
                return Err(self.error("IN needs at least one value, as in x IN (1, 2)", span));
            }
            let kind = ExprKind::In { value: Box::new(left), list, negated };
            return Ok(Expr { kind, span });
        }
        if negated {
            return Err(self.unexpected("LIKE or IN after NOT"));
        }
        Ok(left)
    }

    fn expr_sum(&mut self) -> Parsed<Expr> {
        self.chain(Self::expr_product, |symbol| {
            Some(match symbol {
                '+' => BinaryOperator::Add,
                '-' => BinaryOperator::Subtract,
                '.' => BinaryOperator::Concat,
                _ => return None,
            })
        })
    }

    fn expr_product(&mut self) -> Parsed<Expr> {
        self.chain(Self::expr_sign, |symbol| {
            Some(match symbol {
                '*' => BinaryOperator::Multiply,
                '/' => BinaryOperator::Divide,
                '%' => BinaryOperator::Remainder,
                _ => return None,
            })
        })
    }

    fn chain(
        &mut self,
        operand: fn(&mut Self) -> Parsed<Expr>,
        operator_of: fn(char) -> Option<BinaryOperator>,
    ) -> Parsed<Expr> {
        let mut left = operand(self)?;
        for _ in 0..MAX_CHAIN {
            self.skip_space();
            let Some(operator) = self.peek().and_then(operator_of) else { return Ok(left) };
            self.bump();
            let right = operand(self)?;
            left = self.typed_binary(operator, left, right)?;
        }
        let message = format!("more than {MAX_CHAIN} operators in a row; use brackets or steps");
        Err(self.error(message, self.here()))
    }

    fn typed_binary(&mut self, operator: BinaryOperator, left: Expr, right: Expr) -> Parsed<Expr> {
        match typing::refused_operands(operator, &left, &right) {
            Some(reason) => {
                let span = left.span.to(right.span);
                Err(self.error(format!("type checking failed: {reason}"), span))
            }
            None => Ok(binary(operator, left, right)),
        }
    }

    fn expr_sign(&mut self) -> Parsed<Expr> {
        self.skip_space();
        let start = self.pos();
        let operator = match self.peek() {
            Some('-') => UnaryOperator::Negate,
            Some('+') => UnaryOperator::Plus,
            Some('!') if !self.rest().starts_with("!=") => UnaryOperator::Not,
            _ => return self.expr_primary(),
        };
        self.bump();
        let inner = self.enter(Self::expr_sign)?;
        let span = self.span_from(start);
        Ok(Expr { kind: ExprKind::Unary(operator, Box::new(inner)), span })
    }

    fn expr_primary(&mut self) -> Parsed<Expr> {
        self.skip_space();
        match self.peek() {
            Some('(') => {
                let open = self.here();
                self.bump();
                let inner = self.expr()?;
                if !self.eat(")") {
                    let expected = "an operator or ')'";
                    let hint = "a bracket is not closed";
                    let missing = self.unexpected(expected).with_hint(hint);
                    return Err(if self.at_end() { self.unclosed(open) } else { missing });
                }
                Ok(inner)
            }
            Some('"') => {
                let text = self.expr_text()?;
                Ok(Expr { kind: ExprKind::String(text.node), span: text.span })
            }
            Some('\'') => {
                // `''` is a field that no event has.
                let name = self.quoted('\'')?;
                let field = FieldRef { name: name.node, quoted: true };
                Ok(Expr { kind: ExprKind::Field(field), span: name.span })
            }
            Some('[') => {
                let found = self.text_subsearch()?;
                let span = found.span;
                Ok(Expr { kind: ExprKind::Subsearch(found), span })
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.expr_number(),
            Some(c) if is_identifier(c) => self.expr_name(),
            _ => Err(self.unexpected("an expression")),
        }
    }

    fn unclosed(&self, open: crate::ast::Span) -> crate::diagnostic::Diagnostic {
        self.error("unbalanced brackets: '(' is not closed", open)
    }

    /// Reads `12`, `1.5`, `.5`, `1e3`; digits followed by letters are a name.
    fn expr_number(&mut self) -> Parsed<Expr> {
        let start = self.pos();
        let digit = |c: char| c.is_ascii_digit();
        self.take_while(digit);
        let mut ahead = self.rest().chars();
        if ahead.next() == Some('.') && ahead.next().is_some_and(digit) {
            self.bump();
            self.take_while(digit);
        }
        if self.pos() == start {
            return Err(self.unexpected("an expression"));
        }
        self.attempt(|p| {
            p.peek().filter(|c| matches!(c, 'e' | 'E'))?;
            p.bump();
            if matches!(p.peek(), Some('+' | '-')) {
                p.bump();
            }
            let exponent = p.take_while(digit);
            (!exponent.is_empty() && !p.peek().is_some_and(is_identifier)).then_some(())
        });
        if self.peek().is_some_and(is_identifier) {
            if self.slice(start, self.pos()).contains('.') {
                return Err(self.unexpected("an operator after the number"));
            }
            self.pos = start;
            return self.expr_name();
        }
        let text = self.slice(start, self.pos()).to_owned();
        Ok(Expr { kind: ExprKind::Number(text), span: self.span_from(start) })
    }

    /// Reads a text in double quotes. The escapes `\"`, `\\`, `\n`, `\r` and `\t` are resolved; other
    /// backslashes are kept, because regular expressions have many.
    fn expr_text(&mut self) -> Parsed<Spanned<String>> {
        let start = self.pos();
        self.bump();
        let mut value = String::new();
        while let Some(c) = self.bump() {
            match (c, self.peek()) {
                ('"', _) => return Ok(Spanned::new(value, self.span_from(start))),
                ('\\', Some(next @ ('"' | '\\' | 'n' | 'r' | 't'))) => {
                    self.bump();
                    value.push(match next {
                        'n' => '\n',
                        'r' => '\r',
                        't' => '\t',
                        other => other,
                    });
                }
                _ => value.push(c),
            }
        }
        let span = self.span_to(start, start + 1);
        Err(self.error("unbalanced quotes: \" is not closed", span))
    }

    fn expr_name(&mut self) -> Parsed<Expr> {
        if let Some(aggregation) = self.aggregation()? {
            return Ok(aggregation);
        }
        let start = self.pos();
        let name = self.take_while(|c| is_identifier(c) || ":{}@#$".contains(c));
        // In the place of a value, `in` is a field, such as one with a number of bytes.
        let keyword = ["and", "or", "xor", "not", "like"];
        if keyword.iter().any(|keyword| name.eq_ignore_ascii_case(keyword))
            && !self.rest().trim_start().starts_with('(')
        {
            self.pos = start;
            return Err(self.unexpected("an expression"));
        }
        let span = self.span_from(start);
        if !self.eat("(") {
            let field = FieldRef { name: name.to_owned(), quoted: false };
            return Ok(Expr { kind: ExprKind::Field(field), span });
        }
        self.call(Spanned::new(name.to_owned(), span), start)
    }

    fn call(&mut self, written: Spanned<String>, start: usize) -> Parsed<Expr> {
        let lower = written.node.to_ascii_lowercase();
        let Some(function) = functions::find(&lower) else {
            let message = format!("unknown function '{}'", shorten(&written.node));
            let suggestion = nearest(&lower, functions::names());
            return Err(self.error(message, written.span).with_suggestion(suggestion));
        };
        let mut arguments = self.call_arguments(&lower)?;
        let span = self.span_from(start);
        if let Some(expected) = function.arity.refuses(arguments.len()) {
            let found = arguments.len();
            let message = format!("function {lower} takes {expected}, found {found}");
            return Err(self.error(message, span).with_hint(function.syntax));
        }
        if function.name == "in" {
            let value = Box::new(arguments.remove(0));
            let kind = ExprKind::In { value, list: arguments, negated: false };
            return Ok(Expr { kind, span });
        }
        let syntax = function.syntax;
        let function = Spanned::new(function.name.to_owned(), written.span);
        let call = Call { function, arguments };
        if typing::refuses_arguments(&call) {
            let message = format!("the arguments to the '{lower}' function are invalid");
            return Err(self.error(message, span).with_hint(syntax));
        }
        Ok(Expr { kind: ExprKind::Call(call), span })
    }

    /// Reads expressions up to `)`; the opening bracket has been read.
    fn call_arguments(&mut self, function: &str) -> Parsed<Vec<Expr>> {
        let mut arguments = Vec::new();
        if self.eat(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expr()?);
            if self.eat(")") {
                return Ok(arguments);
            }
            if !self.eat(",") {
                let expected =
                    format!("an operator, ',' or ')' in the arguments of {}", shorten(function));
                return Err(self.unexpected(&expected));
            }
        }
    }
}

fn is_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span }
}

fn not(inner: Expr) -> Expr {
    let span = inner.span;
    Expr { kind: ExprKind::Unary(UnaryOperator::Not, Box::new(inner)), span }
}

/// Collects the operands of nested `operator`s, in order.
fn flatten(expr: Expr, operator: BinaryOperator, operands: &mut Vec<Expr>) {
    match expr.kind {
        ExprKind::Binary(found, left, right) if found == operator => {
            flatten(*left, operator, operands);
            flatten(*right, operator, operands);
        }
        _ => operands.push(expr),
    }
}

fn balanced(mut operands: Vec<Expr>, operator: BinaryOperator) -> Expr {
    while operands.len() > 1 {
        let mut pairs = Vec::with_capacity(operands.len().div_ceil(2));
        let mut rest = operands.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => binary(operator, left, right),
                None => left,
            });
        }
        operands = pairs;
    }
    operands.pop().expect("an operand is read before each operator")
}
