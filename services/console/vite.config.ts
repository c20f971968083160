import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { nearestSchemes } from './src/app/nearestScheme.ts';

const server = process.env.KARST_URL ?? 'http://localhost:8000';
const proxy = Object.fromEntries(
  ['/services', '/servicesNS', '/api', '/static'].map((path) => [
    path,
    { target: server, secure: false },
  ]),
);
/** The policy that the server sends with the page. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'";

export default defineConfig({
  plugins: [react()],
  css: { postcss: { plugins: [nearestSchemes] } },
  build: {
    target: 'es2022',
    assetsDir: 'assets',
    chunkSizeWarningLimit: 700,
  },
  server: {
    port: 5173,
    proxy,
  },
  // dist/ as it is built, before a server of another build.
  preview: { port: 4173, proxy, headers: { 'Content-Security-Policy': POLICY } },
});
