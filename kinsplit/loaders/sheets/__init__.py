"""Workbooks by their file formats, and how they show numbers."""
