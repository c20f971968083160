//! The order of layers in the view of a user in an app.

use std::cmp::Ordering;

use super::Layer;

/// The order of two layers in a view, given their ranks. Of other apps, the last one in lexicographical order
/// wins, as in Splunk's app context, where administrators name apps `zz_overrides`.
pub(super) fn in_view(a: (u8, &Layer), b: (u8, &Layer)) -> Ordering {
    a.0.cmp(&b.0).then_with(|| match a.0 {
        4..=6 => b.1.cmp(a.1),
        _ => a.1.cmp(b.1),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Layers;

    #[test]
    fn of_other_apps_the_last_wins_in_a_view_and_the_first_at_index_time() {
        let mut layers = Layers::default();
        for app in ["aa", "mm", "zz"] {
            let text = format!("[s]\n{app} = {app}\nk = {app}\n");
            layers = layers.with(Layer::AppDefault(app.to_owned()), "x", &text).with_model(
                app,
                "M",
                &format!("\"{app}\""),
            );
        }
        let local = Layer::AppLocal("aa".to_owned());
        let layers = layers.with(local, "x", "[s]\nl = aa\n[t]\nk = aa\n");
        let value = |layers: &Layers| layers.effective("x").get("s", "k").unwrap().value.clone();
        let model = |layers: &Layers| layers.models().next().unwrap().2.to_owned();
        assert_eq!(value(&layers), "aa");
        for (app, wins) in [("search", "zz"), ("aa", "aa"), ("mm", "mm")] {
            let view = layers.view("ann", app);
            assert_eq!((value(&view), model(&view)), (wins.to_owned(), format!("\"{wins}\"")));
            let named = layers.stanzas_by_name("x");
            let seen = layers.seen("x", &named["s"], "ann", app);
            let first = seen.iter().find_map(|(_, stanza)| stanza.get("k")).unwrap();
            assert_eq!(first.value, wins);
        }
    }
}
