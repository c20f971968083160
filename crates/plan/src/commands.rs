//! The commands: each turns a frame into the next, or ends a stage.
//!
//! One file per command or tight family. The doc of each says how the command splits: what the
//! indexers can run on their part of the events, and what is left to the search head.

#[path = "commands/abstract.rs"]
mod abstract_;
mod addcoltotals;
mod addinfo;
mod addtotals;
mod analyzefields;
mod anomalies;
mod anomalousvalue;
mod anomalydetection;
mod append;
mod appendcols;
mod arules;
mod associate;
mod autoregress;
mod begin;
mod bin;
mod chart;
mod cluster;
mod cofilter;
mod collect;
mod concurrency;
mod contingency;
mod convert;
mod correlate;
mod dataset;
mod dedup;
mod delete;
mod diff;
mod discover;
mod enrich;
mod erex;
mod eval;
pub(crate) mod eval_named;
mod eventcount;
mod eventstats;
mod extract;
mod fieldformat;
mod fields;
mod fieldsummary;
mod filldown;
mod fillnull;
mod findtypes;
mod folderize;
pub(crate) mod foreach;
mod format;
mod fromjson;
mod gauge;
mod gentimes;
mod geomfilter;
mod geostats;
mod head;
mod history;
mod inputlookup;
mod iplocation;
mod join;
mod kmeans;
mod kvform;
mod loadjob;
mod localize;
mod lookup;
mod makecontinuous;
mod makeresults;
pub(crate) mod map;
mod mcatalog;
mod mcollect;
mod metadata;
mod metasearch;
mod metrics;
mod mpreview;
mod mstats;
mod multikv;
mod multisearch;
mod multivalue;
mod mvcombine;
mod outlier;
mod outputlookup;
mod outputtext;
mod overlap;
mod pivot;
mod predict;
pub(crate) mod prestats;
mod rangemap;
mod regex;
mod relevancy;
mod reltime;
mod rename;
mod replace;
mod require;
mod reshape;
mod rest;
mod rex;
mod running;
mod sample;
mod savedsearch;
mod script;
mod scrub;
pub(crate) mod search;
mod searchtxn;
mod selfjoin;
mod sendalert;
mod set;
mod setfields;
mod sort;
mod spath;
mod split;
mod stats;
mod strcat;
mod streamstats;
pub(crate) mod summary;
mod tags;
mod template;
mod timechart;
mod timewrap;
mod tojson;
mod tokens;
mod top;
mod transaction;
mod trendline;
mod tstats;
mod typeahead;
mod union;
mod uniq;
mod walklex;
mod x11;
mod xmlkv;
mod xmlunescape;
mod xpath;

use spl::ast::{Command, Spanned};

pub(crate) use begin::{Begin, begin, expand};

use self::inputlookup::Named;
use crate::frame::Frame;
use crate::functions::lookup::Lookups;
use crate::pipeline::{Env, Planning, Start};
use crate::stage::Finish;
use crate::stage::inner::tail;
use crate::{Error, rights};

/// What a command makes of a frame.
#[derive(Debug)]
pub(crate) enum Step {
    /// The frame the next command works on.
    Next(Frame),
    /// The rows of the frame are needed before the pipeline goes on.
    Finish(Frame, Finish),
    /// Other commands stand in its place.
    Replace(Frame, Vec<Spanned<Command>>),
}

/// Plans the command a pipeline begins with.
pub(crate) async fn start(
    command: &Spanned<Command>,
    pipeline: &[Spanned<Command>],
    env: &Env<'_>,
) -> Result<Start, Error> {
    match &command.node {
        Command::Search(command) => search::start(command, pipeline, env).await,
        Command::Tstats(options) => tstats::start(options, command.span, env).await,
        Command::Makeresults(options) => makeresults::start(options, env),
        Command::Gentimes(options) => gentimes::start(options, env),
        Command::History(command) => history::start(command, env).await,
        Command::Loadjob(command) => loadjob::start(command, env).await,
        Command::Inputlookup(command) => inputlookup::start(command, Named::Lookup, env).await,
        Command::Inputcsv(command) => inputlookup::start(command, Named::File, env).await,
        Command::Datamodel(command) => dataset::describe(command, env),
        Command::Eventcount(command) => eventcount::eventcount(command, env).await,
        Command::Dbinspect(command) => eventcount::dbinspect(command, env).await,
        Command::Mcatalog(command) => mcatalog::start(command, env).await,
        Command::Metadata(command) => metadata::start(command, env).await,
        Command::Typeahead(command) => typeahead::start(command, env).await,
        Command::Walklex(command) => walklex::start(command, env).await,
        Command::Mpreview(command) => mpreview::start(command, env).await,
        _ => Err(Error::at(
            "a search begins with search, tstats, makeresults or metadata",
            command.span,
        )),
    }
}

/// Plans a command over a frame. `rest` is what follows it.
pub(crate) fn plan<'p>(
    command: &'p Spanned<Command>,
    frame: Frame,
    rest: &'p [Spanned<Command>],
    env: &'p Env<'_>,
) -> Planning<'p, Step> {
    Box::pin(async move {
        rights::check(command, env)?;
        let lookups = Lookups::read(&command.node, env).await?;
        step(command, frame, rest, &env.asking(&lookups)).await
    })
}

async fn step(
    command: &Spanned<Command>,
    frame: Frame,
    rest: &[Spanned<Command>],
    env: &Env<'_>,
) -> Result<Step, Error> {
    let next = match &command.node {
        Command::Abstract(command) => abstract_::plan(command, frame)?,
        Command::Accum(command) => running::accum(command, frame)?,
        Command::Addcoltotals(command) => return Ok(addcoltotals::plan(command, frame)),
        Command::Addinfo(_) => addinfo::plan(frame, env)?,
        Command::Addtotals(command) => return addtotals::plan(command, frame, env),
        Command::Analyzefields(command) => return Ok(analyzefields::plan(command, frame)),
        Command::Anomalies(command) => return Ok(anomalies::plan(command, frame)),
        Command::Anomalousvalue(command) => {
            return anomalousvalue::plan(&command.options, &command.fields, frame);
        }
        Command::Anomalydetection(command) => return anomalydetection::plan(command, frame),
        Command::Arules(command) => return Ok(arules::plan(command, frame)),
        Command::Associate(command) => return Ok(associate::plan(command, frame)),
        Command::Autoregress(command) => autoregress::plan(command, frame, env)?,
        Command::Cluster(command) => return cluster::plan(command, frame),
        Command::Cofilter(command) => return Ok(cofilter::plan(command, frame)),
        Command::Contingency(command) => return Ok(contingency::plan(command, frame)),
        Command::Correlate(command) => return Ok(correlate::plan(command, frame)),
        Command::Erex(command) => return Ok(erex::plan(command, frame)),
        Command::Findtypes(command) => return Ok(findtypes::findtypes(command, frame)),
        Command::Geom(options) => return geomfilter::geom(options, command.span, frame),
        Command::Geomfilter(command) => geomfilter::geomfilter(command, frame)?,
        Command::Geostats(command) => return geostats::plan(command, frame, env),
        Command::Kmeans(command) => return Ok(kmeans::plan(command, frame)),
        Command::Outlier(command) => {
            return outlier::plan(&command.options, &command.fields, frame);
        }
        Command::Predict(options) => return predict::plan(options, command.span, frame, env),
        Command::Timewrap(options) => return timewrap::plan(options, command.span, frame, env),
        Command::Typelearner(command) => return Ok(findtypes::typelearner(command, frame)),
        Command::Typer(_) => tags::typer(frame, env)?,
        Command::Tags(command) => tags::tags(command, frame, env)?,
        Command::Sendalert(command) => return Ok(sendalert::alert(command, frame)),
        Command::Sendemail(command) => return Ok(sendalert::email(command, frame)),
        Command::Collect(command) => return collect::plan(command, frame, env),
        Command::Concurrency(command) => return Ok(concurrency::plan(command, frame)),
        Command::Delete(_) => return Err(delete::refused(command.span)),
        Command::Diff(command) => return Ok(diff::plan(command, frame)),
        Command::Extract(command) => return extract::plan(command, frame, rest, env),
        Command::Fieldformat(command) => fieldformat::plan(command, frame, env)?,
        Command::Folderize(command) => return Ok(folderize::plan(command, frame)),
        Command::Format(command) => return Ok(format::format(command, frame)),
        Command::Fromjson(command) => return fromjson::plan(command, frame, rest, env),
        Command::Gauge(command) => return Ok(gauge::plan(command, frame)),
        Command::Highlight(_) | Command::Iconify(_) => frame,
        Command::Inputlookup(options) => {
            return inputlookup::plan(options, Named::Lookup, frame, command.span);
        }
        Command::Inputcsv(options) => {
            return inputlookup::plan(options, Named::File, frame, command.span);
        }
        Command::Iplocation(command) => iplocation::plan(command, frame, env)?,
        Command::Kvform(found) => return kvform::plan(found, command.span, frame, rest, env),
        Command::Localize(command) => return Ok(localize::plan(command, frame)),
        Command::Localop(_) | Command::Noop(_) | Command::Redistribute(_) => frame,
        Command::Lookup(command) => lookup::plan(command, frame, env).await?,
        Command::Makecontinuous(command) => return makecontinuous::plan(command, frame, env),
        Command::Multikv(command) => return multikv::plan(command, frame),
        Command::Mcollect(options) | Command::Meventcollect(options) => {
            return mcollect::plan(options, command.span, frame, env);
        }
        node if prestats::appends(node) => {
            return Ok(prestats::append(command, frame, &tail(command, rest)));
        }
        Command::Mvcombine(command) => return Ok(mvcombine::plan(command, frame, rest)),
        Command::Outputlookup(command) => {
            return outputlookup::plan(command, Named::Lookup, frame, env);
        }
        Command::Outputcsv(command) => {
            return outputlookup::plan(command, Named::File, frame, env);
        }
        Command::Append(found) => return Ok(append::append(found, frame, tail(command, rest))),
        Command::Appendcols(found) => {
            return Ok(appendcols::plan(found, frame, tail(command, rest)));
        }
        Command::Appendpipe(command) => return Ok(append::appendpipe(command, frame)),
        Command::Bin(command) => return bin::plan(command, frame, env),
        Command::Chart(command) => return chart::plan(command, frame, env),
        Command::Convert(command) => convert::plan(command, frame, env)?,
        Command::Dedup(command) => dedup::plan(command, frame, env)?,
        Command::Delta(command) => running::delta(command, frame, env)?,
        Command::Eval(found) => return eval::plan(found, command.span, frame, rest, env),
        Command::Eventstats(command) => eventstats::plan(command, frame, env)?,
        Command::Fields(command) => fields::fields(command, frame)?,
        Command::Fieldsummary(command) => return Ok(fieldsummary::plan(command, frame)),
        Command::Filldown(command) => filldown::plan(command, frame)?,
        Command::Fillnull(command) => fillnull::plan(command, frame)?,
        Command::Foreach(command) => return foreach::plan(command, frame),
        Command::Head(command) => head::head(command, frame, env)?,
        Command::Join(found) => return join::plan(command, found, frame, rest),
        Command::Makemv(command) => multivalue::makemv(command, frame)?,
        Command::Map(found) => return Ok(map::plan(found, frame, rest)),
        Command::Mvexpand(command) => multivalue::mvexpand(command, frame)?,
        Command::Nomv(command) => multivalue::nomv(command, frame)?,
        Command::Outputtext(command) => outputtext::plan(command, frame)?,
        Command::Overlap(_) => return Ok(overlap::plan(frame)),
        Command::Rangemap(command) => rangemap::plan(command, frame)?,
        Command::Rare(command) => top::plan(command, top::Order::Rarest, frame)?,
        Command::Regex(command) => regex::plan(command, frame, env)?,
        Command::Reltime(command) => reltime::plan(command, frame, env)?,
        Command::Relevancy(_) => relevancy::plan(frame)?,
        Command::Rename(command) => rename::plan(command, frame)?,
        Command::Replace(command) => replace::plan(command, frame)?,
        Command::Require(_) => require::plan(frame)?,
        Command::Return(command) => return Ok(format::returned(command, frame)),
        Command::Reverse(_) => frame.reverse(),
        Command::Rex(command) => rex::plan(command, frame)?,
        Command::Rtorder(_) => frame,
        Command::Script(command) => script::plan(command, frame, env),
        Command::Scrub(_) => scrub::plan(frame, env)?,
        Command::Search(command) => search::filter(command, frame, env)?,
        Command::Selfjoin(command) => return Ok(selfjoin::plan(command, frame)),
        Command::Setfields(command) => setfields::plan(command, frame)?,
        Command::Sichart(found) => return summary::chart(found, command.span, frame),
        Command::Sirare(found) | Command::Sitop(found) => {
            return summary::top(found, command.span, frame);
        }
        Command::Sistats(found) => return summary::stats(found, command.span, frame),
        Command::Sitimechart(found) => return summary::timechart(found, command.span, frame),
        Command::Sort(command) => sort::plan(command, frame, env)?,
        Command::Spath(command) => return spath::plan(command, frame, rest),
        Command::Stats(command) => return stats::plan(command, frame, env),
        Command::Strcat(command) => strcat::plan(command, frame)?,
        Command::Streamstats(command) => streamstats::plan(command, frame, env)?,
        Command::Table(command) => fields::table(command, frame)?,
        Command::Tail(command) => head::tail(command, frame),
        Command::Timechart(options) => return timechart::plan(options, command.span, frame, env),
        Command::Tojson(command) => tojson::plan(command, frame)?,
        Command::Top(command) => top::plan(command, top::Order::MostFrequent, frame)?,
        Command::Transaction(options) => {
            return transaction::plan(options, command.span, frame, env);
        }
        Command::Transpose(command) => return Ok(reshape::transpose(command, frame)),
        Command::Trendline(command) => trendline::plan(command, frame)?,
        Command::Tscollect(found) => return Err(delete::uncollected(found, command.span)),
        Command::Union(found) => return union::plan(found, frame, &tail(command, rest)),
        Command::Uniq(_) => uniq::plan(frame)?,
        Command::Untable(command) => return Ok(reshape::untable(command, frame)),
        Command::Where(command) => eval::filter(command, frame, env)?,
        Command::X11(command) => return Ok(x11::plan(command, frame)),
        Command::Xmlkv(found) => return xmlkv::plan(found, frame, rest, env),
        Command::Xmlunescape(_) => xmlunescape::plan(frame)?,
        Command::Xpath(command) => xpath::plan(command, frame)?,
        Command::Xyseries(command) => return Ok(reshape::xyseries(command, frame)),
        Command::Gentimes(_)
        | Command::History(_)
        | Command::Loadjob(_)
        | Command::Makeresults(_)
        | Command::Mcatalog(_)
        | Command::Metadata(_)
        | Command::Metasearch(_)
        | Command::Mpreview(_)
        | Command::Mstats(_)
        | Command::Multisearch(_)
        | Command::Pivot(_)
        | Command::Savedsearch(_)
        | Command::Set(_)
        | Command::Tstats(_)
        | Command::Typeahead(_)
        | Command::Walklex(_) => {
            return Err(Error::at("this command can only begin a search", command.span));
        }
        _ => return Err(Error::at("this command cannot be planned yet", command.span)),
    };
    Ok(Step::Next(next))
}
