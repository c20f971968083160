import { describe, expect, it } from 'vitest';
import { addressOf, appLabel, parsePath, paths, unknownApp } from './routing';

describe('addresses', () => {
  it('lead to their views', () => {
    expect(parsePath('/app/search/search')).toEqual({ view: 'search', app: 'search' });
    expect(parsePath('/app/ops/reports')).toEqual({ view: 'reports', app: 'ops' });
    expect(parsePath('/app/ops/dashboards')).toEqual({ view: 'dashboards', app: 'ops' });
    expect(parsePath('/app/ops/disk_usage')).toEqual({
      view: 'dashboard',
      app: 'ops',
      name: 'disk_usage',
      edit: false,
    });
    expect(parsePath('/app/ops/disk_usage/edit')).toMatchObject({ name: 'disk_usage', edit: true });
    expect(parsePath('/app/ops/search/edit')).toMatchObject({ view: 'unknown' });
    expect(parsePath('/jobs')).toEqual({ view: 'jobs' });
    expect(parsePath('/monitor/cluster/')).toEqual({ view: 'monitor', page: 'cluster' });
    expect(parsePath('/monitor/bundle')).toEqual({ view: 'monitor', page: 'bundle' });
  });

  it('of objects have the kind and the name', () => {
    expect(parsePath('/data/indexes')).toEqual({ view: 'data', kind: 'indexes', name: null });
    expect(parsePath(paths.data('inputs', '/var/log/a b'))).toEqual({
      view: 'data',
      kind: 'inputs',
      name: '/var/log/a b',
    });
    expect(parsePath('/settings')).toEqual({ view: 'moved', to: '/settings/users' });
    expect(parsePath('/settings/nothing')).toMatchObject({ view: 'unknown' });
    expect(parsePath('/monitor/nothing')).toMatchObject({ view: 'unknown' });
  });

  it('are read as they are written', () => {
    for (const sid of ['1764158400.7', 'admin__search_ä/b c', '100%']) {
      expect(parsePath(paths.inspect(sid))).toEqual({ view: 'inspect', sid });
    }
    expect(parsePath(paths.dashboard('a b', 'c/d'))).toEqual({
      view: 'dashboard',
      app: 'a b',
      name: 'c/d',
      edit: false,
    });
  });

  it('begin at the home page', () => {
    expect(parsePath('/')).toEqual({ view: 'home' });
  });

  it('have a locale in front where Splunk writes one', () => {
    expect(parsePath('/en-US/app/search/search')).toEqual({ view: 'search', app: 'search' });
    expect(parsePath('/de-DE/')).toEqual({ view: 'home' });
  });

  it('from before still lead somewhere', () => {
    expect(parsePath('/app/launcher/home')).toEqual({ view: 'moved', to: '/' });
    expect(parsePath('/app')).toEqual({ view: 'moved', to: '/app/search/search' });
    expect(parsePath('/cluster')).toEqual({ view: 'moved', to: '/monitor/cluster' });
    expect(parsePath('/app/ops')).toEqual({ view: 'moved', to: '/app/ops/search' });
    expect(parsePath('/app/ops/job_manager')).toEqual({ view: 'moved', to: '/jobs' });
  });

  it('that are guessed lead to the page', () => {
    expect(parsePath('/settings/lookup-files')).toEqual({ view: 'moved', to: '/settings/lookups' });
    expect(parsePath('/data/hec')).toEqual({ view: 'moved', to: '/data/tokens' });
    expect(parsePath('/settings/fieldaliases')).toEqual({
      view: 'moved',
      to: '/settings/field-aliases',
    });
    expect(parsePath('/settings/indexes')).toEqual({ view: 'moved', to: '/data/indexes' });
    expect(parsePath('/data/constructor').view).toBe('unknown');
    expect(parsePath('/data/hec/mine').view).toBe('unknown');
  });

  it('without a view are unknown', () => {
    for (const path of [
      '/nothing',
      '/jobs/1',
      '/jobs/1/inspect/2',
      '/app/a/b/c',
      '/app/a/alerts',
    ]) {
      expect(parsePath(path).view).toBe('unknown');
    }
    expect(parsePath('/jobs/%E0%A4%A/inspect')).toEqual({ view: 'inspect', sid: '%E0%A4%A' });
  });

  it('leave out parameters without a value', () => {
    expect(addressOf('/a', { q: 'x y', sid: undefined })).toBe('/a?q=x+y');
    expect(addressOf('/a', {})).toBe('/a');
  });
});

it('an app has its label, also the first one for a user who may not list apps', () => {
  const apps = [{ name: 'a', label: 'An app' }];
  expect(appLabel(apps, 'a')).toBe('An app');
  expect(appLabel(apps, 'b')).toBe('b');
  expect(appLabel([], 'search')).toBe('Search & Reporting');
});

it('an address of an app that does not exist is known as such once the apps are', () => {
  const all = [{ name: 'search' }];
  expect(unknownApp(parsePath('/app/nosuchapp/search'), all)).toBe('nosuchapp');
  expect(unknownApp(parsePath('/app/nosuchapp/dashboards'), all)).toBe('nosuchapp');
  expect(unknownApp(parsePath('/app/search/reports'), all)).toBeNull();
  expect(unknownApp(parsePath('/jobs'), all)).toBeNull();
  expect(unknownApp(parsePath('/app/nosuchapp/search'), undefined)).toBeNull();
});
